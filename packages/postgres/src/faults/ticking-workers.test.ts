import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, inject, it } from "vitest";

const script = fileURLToPath(new URL("../../scripts/tick-workers.mjs", import.meta.url));
const built = fileURLToPath(new URL("../../dist/index.js", import.meta.url));

// By default the script does the same with five times and ten kills.
it(
  "of 1,000 recurring jobs no time is lost or comes twice while several processes tick and some are killed",
  { timeout: 180_000 },
  async () => {
    expect(existsSync(built), "the package is built: npm run build").toBe(true);
    const args = ["--times", "2", "--every", "3000", "--workers", "3", "--kills", "3"];
    const run = promisify(execFile)(process.execPath, [
      script,
      ...args,
      "--url",
      inject("postgres18Url"),
      "--json",
    ]);
    const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
    expect(stderr).toBe("");
    const { expected, ...result } = JSON.parse(stdout) as { readonly expected: number };
    expect(expected).toBeGreaterThan(1_000);
    expect(result).toMatchObject({ jobs: expected, onRecord: expected, twice: 0, crashes: 0 });
  },
);
