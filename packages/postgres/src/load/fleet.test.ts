import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const program = fileURLToPath(new URL("../../../../benchmarks/fleet/run.mjs", import.meta.url));

interface FleetResult {
  readonly lost: number;
  readonly repeated: number;
  readonly errors: unknown[];
  readonly wakesPerStart: number;
  readonly connections: { readonly pooled: number };
}

/** A short run of the benchmark, which uses what `npm run build` has made. */
it("of six processes behind PgBouncer, a start wakes one, and no job is lost or runs twice", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-fleet-"));
  try {
    const file = join(folder, "fleet.json");
    const args = "--processes 6 --busy 1 --notify redis --seconds 1 --starts 20 --json".split(" ");
    await promisify(execFile)(process.execPath, [program, ...args, file]);
    const results = JSON.parse(await readFile(file, "utf8")) as FleetResult[];
    expect(results).toEqual([
      expect.objectContaining({ lost: 0, repeated: 0, errors: [], wakesPerStart: 1 }),
    ]);
    expect(results[0]!.connections.pooled).toBeLessThanOrEqual(10);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 60_000);
