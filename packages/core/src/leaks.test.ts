import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const script = fileURLToPath(new URL("../../../scripts/leaks.mjs", import.meta.url));

const built = fileURLToPath(new URL("../dist/index.js", import.meta.url));

const jobs = 50_000;

// `npm run test:leaks` does the same with a million.
it(`leaves nothing behind of ${jobs} jobs, 10,000 waits and 200 workers`, { timeout: 120_000 }, async () => {
  expect(existsSync(built), "the package is built: npm run build").toBe(true);
  // In a process of its own: a test runner's heap says nothing.
  const run = promisify(execFile)(process.execPath, ["--expose-gc", "--no-warnings", script, String(jobs)]);
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  expect(JSON.parse(stdout)).toMatchObject({ jobs, problems: [] });
});
