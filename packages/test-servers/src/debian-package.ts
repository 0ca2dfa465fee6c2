import { execFile } from "node:child_process";
import { mkdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const installLock = join(tmpdir(), "leasehold-apt-get.lock");

/** One installation at a time, in whichever process: apt-get refuses to run twice. */
const underLock = async (action: () => Promise<void>): Promise<void> => {
  for (let tries = 0; ; tries += 1) {
    try {
      await mkdir(installLock);
      break;
    } catch (error) {
      if (tries > 600) throw error;
      await sleep(500);
    }
  }
  try {
    await action();
  } finally {
    await rm(installLock, { recursive: true, force: true });
  }
};

/**
 * Where a server's program is. Debian's package is installed if it is missing and this process may do so; otherwise
 * the error says what to install. Tests that need the server then fail: they are not skipped.
 */
export const findDebianProgram = async (path: string, packageName: string): Promise<string> => {
  if (await exists(path)) return path;
  const mayInstall = process.getuid?.() === 0 && (await exists("/usr/bin/apt-get"));
  if (!mayInstall) {
    throw new Error(`${path} is missing. Install it (Debian: apt-get install ${packageName}) and run again.`);
  }
  await underLock(async () => {
    if (await exists(path)) return;
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    await run("apt-get", ["update"], { env });
    await run("apt-get", ["install", "-y", "--no-install-recommends", packageName], { env });
  });
  if (!(await exists(path))) throw new Error(`Package ${packageName} was installed, but ${path} is missing.`);
  return path;
};
