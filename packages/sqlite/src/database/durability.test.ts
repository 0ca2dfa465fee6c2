import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claimAll, newJob } from "../testing/jobs.ts";
import { createTestStore, openRaw, testDriver, type TestStore } from "../testing/store.ts";

let store: TestStore;

let others: TestStore[] = [];

beforeEach(async () => {
  store = await createTestStore();
});

afterEach(async () => {
  for (const other of others) await other.adapter.close();
  others = [];
  await store.destroy();
});

describe("acknowledged commits and the write-ahead log", () => {
  it("the writer syncs every commit", async () => {
    const settings = await store.adapter.provideContext(async ({ client }) =>
      ["synchronous", "journal_mode", "foreign_keys"].map((name) =>
        Object.values(client.prepare(`PRAGMA ${name}`).get() as object).find(
          (value) => typeof value !== "object",
        ),
      ),
    );
    expect(settings).toEqual([2, "wal", 1]);
  });

  const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;
  if (canTrace)
    it("the log is on the disk before the call resolves (needs strace)", async () => {
      const program = fileURLToPath(new URL("../../scripts/processes/acknowledge.mjs", import.meta.url));
      const trace = join(store.file, "..", "trace");
      const calls = "trace=write,pwrite64,pwritev,fsync,fdatasync";
      const options = JSON.stringify({ file: store.file, driver: testDriver, jobs: 5 });
      const child = spawn("strace", [
        "-f",
        "-y",
        "-e",
        calls,
        "-o",
        trace,
        process.execPath,
        program,
        options,
      ]);
      await once(child, "exit");
      const lines = readFileSync(trace, "utf8").split("\n");
      const acknowledged = lines.flatMap((line, index) => (line.includes('"acknowledged') ? [index] : []));
      expect(acknowledged).toHaveLength(5);
      let from = 0;
      for (const until of acknowledged) {
        const between = lines.slice(from, until);
        const lastWrite = between.findLastIndex((line) => /pwrite.*-wal/.test(line));
        const lastSync = between.findLastIndex((line) => /sync\(.*-wal/.test(line));
        expect(lastWrite).toBeGreaterThan(-1);
        expect(lastSync).toBeGreaterThan(lastWrite);
        from = until;
      }
    });

  it("a long read on another connection lets the log grow, and it shrinks when the read has ended", async () => {
    const maxWalBytes = 200_000;
    const writer = await createTestStore({ file: store.file, maxWalBytes });
    others = [writer];
    const walBytes = (): number => statSync(`${store.file}-wal`).size;
    const write = async (times: number): Promise<void> => {
      for (let count = 0; count < times; count += 1) {
        await writer.adapter.createJobs({ jobs: [newJob({ input: "x".repeat(5_000) })] });
      }
    };
    const reader = await openRaw(store.file);
    reader.exec("BEGIN");
    reader.query("SELECT count(*) FROM leasehold_job", []);
    await write(200);
    const grown = walBytes();
    expect(grown).toBeGreaterThan(5 * maxWalBytes);
    reader.exec("COMMIT");
    reader.close();
    // The adapter looks at the log every so many commits, and pauses after a look that did not help.
    const deadline = performance.now() + 15_000;
    while (walBytes() >= grown && performance.now() < deadline) await write(16);
    expect(walBytes()).toBeLessThan(grown / 2);
  });

  it("the adapter's own reads never keep the log from starting over", async () => {
    const { adapter, file } = store;
    await adapter.createJobs({ jobs: [newJob(), newJob()] });
    await adapter.listJobs({ filter: {}, order: "oldest", limit: 1, after: null });
    await adapter.getJobs({ jobIds: [] });
    await claimAll(adapter, 1);
    const other = await openRaw(file);
    const [busy] = other.first("PRAGMA wal_checkpoint(TRUNCATE)", []) ?? [];
    other.close();
    expect(busy).toBe(0);
    expect(statSync(`${file}-wal`).size).toBe(0);
  });
});
