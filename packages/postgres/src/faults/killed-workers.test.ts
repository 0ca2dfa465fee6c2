import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, inject, it } from "vitest";

const script = fileURLToPath(new URL("../../scripts/kill-workers.mjs", import.meta.url));
const built = fileURLToPath(new URL("../../dist/index.js", import.meta.url));

// By default the script does the same with 5,000 jobs, four workers and two producers.
it(
  "of 1,000 jobs none is lost or wrongly done twice while workers are killed",
  { timeout: 120_000 },
  async () => {
    expect(existsSync(built), "the package is built: npm run build").toBe(true);
    const args = ["--jobs", "1000", "--workers", "2", "--producers", "1", "--kills", "8"];
    const run = promisify(execFile)(process.execPath, [
      script,
      ...args,
      "--url",
      inject("postgres18Url"),
      "--json",
    ]);
    const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({
      acknowledged: 1_000,
      kills: 8,
      damages: {},
      diedOfSomethingElse: 0,
    });
  },
);
