import { spawn } from "node:child_process";
import { dirname } from "node:path";
import { type ServerUser, unprivilegedUser } from "./server-process.ts";

/** Runs a program that is expected to end with 0. The error has what it printed. */
export const runToEnd = (
  command: string,
  args: readonly string[],
  user: ServerUser | undefined,
  cwd: string,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { stdio: ["ignore", "pipe", "pipe"], cwd, ...user });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("error", reject);
    child.once("exit", (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${command} ended with ${code}:\n${output}`)),
    );
  });

/** Makes a file, or all in a folder, readable for a server that does not run as root, whatever the umask is. */
export const giveToServerUser = async (path: string): Promise<void> => {
  const user = unprivilegedUser();
  if (user) await runToEnd("chown", ["-R", `${user.uid}:${user.gid}`, path], undefined, dirname(path));
};
