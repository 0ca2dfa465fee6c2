import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claimAll, completion, createGate, newJob } from "./test-support/jobs.ts";
import { createTestStore, openRaw, testDriver, type TestStore } from "./test-support/store.ts";

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

describe("trap 17: a transaction that reads first and writes later", () => {
  it("fails at once, whatever the timeout, when it begins as SQLite does by default", async () => {
    const [one, two] = [await openRaw(store.file), await openRaw(store.file)];
    one.exec("PRAGMA busy_timeout = 5000");
    one.exec("BEGIN");
    one.query("SELECT count(*) FROM leasehold_job", []);
    two.exec("CREATE TABLE other (id)");
    const startedAt = performance.now();
    expect(() => one.exec("CREATE TABLE another (id)")).toThrow(/locked/);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    one.exec("ROLLBACK");
    one.close();
    two.close();
  });

  it("waits its turn here, without blocking the process, and loses nothing", async () => {
    others = [await createTestStore({ file: store.file }), await createTestStore({ file: store.file })];
    const adapters = [store, ...others].map(({ adapter }) => adapter);
    const gate = createGate();
    let turns = 0;
    // Each reads the number of jobs and then adds one that says it. Two that saw the same would say the same.
    const count = async (adapter: TestStore["adapter"]): Promise<void> =>
      adapter.runInTransaction(async (ctx) => {
        const [counted] = await adapter.countJobs({ filter: {}, ctx });
        if (turns === 0) await gate.opened;
        turns += 1;
        await adapter.createJobs({ jobs: [newJob({ input: String(counted?.count ?? 0) })], ctx });
      });
    const all = Array.from({ length: 10 }, () => adapters.map(count)).flat();
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
      if (ticks === 5) gate.open();
    }, 5);
    await Promise.all(all);
    clearInterval(ticking);
    const inputs = (await claimAll(store.adapter)).map(({ input }) => Number(input)).sort((a, b) => a - b);
    expect(inputs).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  it("gives up with an error that core takes for transient when the lock is never released", async () => {
    const other = await createTestStore({ file: store.file, connectionRetryConfig: { maxWaitMs: 50 } });
    others = [other];
    await store.adapter.runInTransaction(async () => {
      const error = await other.adapter.createJobs({ jobs: [newJob()] }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "SqliteBusy" });
      expect(other.adapter.isTransientError(error)).toBe(true);
      await expect(other.adapter.runInTransaction(async () => undefined)).rejects.toMatchObject({
        code: "SqliteBusy",
      });
    });
    await other.adapter.createJobs({ jobs: [newJob()] });
  });
});

describe("trap 18: acknowledged commits and the write-ahead log", () => {
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
  it.skipIf(!canTrace)("the log is on the disk before the caller hears of it (needs strace)", async () => {
    const program = fileURLToPath(new URL("../scripts/processes/acknowledge.mjs", import.meta.url));
    const trace = join(store.file, "..", "trace");
    const calls = "trace=write,pwrite64,pwritev,fsync,fdatasync";
    const options = JSON.stringify({ file: store.file, driver: testDriver, jobs: 5 });
    const child = spawn("strace", ["-f", "-y", "-e", calls, "-o", trace, process.execPath, program, options]);
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

  it("a long read of somebody else's lets the log grow, and it shrinks when that has ended", async () => {
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
    // The next look at the log is at most so many commits, and so many milliseconds after a look in vain, away.
    const deadline = performance.now() + 15_000;
    while (walBytes() >= grown && performance.now() < deadline) await write(16);
    expect(walBytes()).toBeLessThan(grown / 2);
  });

  it("reads of the adapter's own never keep the log from starting over", async () => {
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

describe("trap 27: texts come back as they were", () => {
  const text = fc.string({ unit: "binary", maxLength: 50 });
  const json = fc.jsonValue().map((value) => JSON.stringify(value));
  const payload = fc.oneof(
    text,
    json,
    fc.constantFrom('{"__proto__":{"a":1}}', "-0", "1e400", '"\\ud83d\\ude00"'),
  );

  it("inputs in bulk and alone, outputs, progress, errors, keys and ids", async () => {
    const { adapter } = store;
    const id = fc.string({ unit: "binary", minLength: 1, maxLength: 20 });
    const batch = fc.uniqueArray(
      fc.record({ id, input: payload, output: payload, progress: payload, error: payload }),
      {
        selector: (job) => job.id,
        minLength: 1,
        maxLength: 8,
      },
    );
    await fc.assert(
      fc.asyncProperty(batch, async (jobs) => {
        await adapter.createJobs({ jobs: jobs.map(({ id, input }) => newJob({ id, input })), now: 1 });
        const claimed = await claimAll(adapter);
        expect(claimed.map(({ id, input }) => ({ id, input }))).toEqual(
          jobs.map(({ id, input }) => ({ id, input })),
        );
        await adapter.renewLeases({
          leases: jobs.map(({ id, progress }, index) => ({
            jobId: id,
            leaseToken: claimed[index]!.leaseToken!,
            leaseMs: 60_000,
            progress,
          })),
        });
        await adapter.commitOutcomes({
          outcomes: jobs.map(({ output, error }, index) =>
            index % 2 === 0
              ? completion(claimed[index]!, output)
              : { ...completion(claimed[index]!), kind: "fail", reason: "unrecoverable", error },
          ),
        });
        const stored = await adapter.getJobs({ jobIds: jobs.map((job) => job.id) });
        expect(
          stored.map((job) => [job?.id, job?.input, job?.progress, job?.output ?? job?.lastError]),
        ).toEqual(
          jobs.map((job, index) => [
            job.id,
            job.input,
            job.progress,
            index % 2 === 0 ? job.output : job.error,
          ]),
        );
        await adapter.deleteSequences({ rootSequenceIds: jobs.map((job) => job.id) });
      }),
      { numRuns: 100 },
    );
  });

  it("ids that look like numbers stay in the order they came", async () => {
    const ids = ["10", "9", "-1", "2", "x", "1"];
    await store.adapter.createJobs({ jobs: ids.map((id) => newJob({ id })), now: 1 });
    expect((await claimAll(store.adapter)).map(({ id }) => id)).toEqual(ids);
  });

  it("a batch of large texts, loaded in several steps", async () => {
    const { adapter } = store;
    const input = JSON.stringify('é"\\'.repeat(60_000));
    const jobs = Array.from({ length: 40 }, () => newJob({ input }));
    await adapter.createJobs({ jobs });
    const claimed = await claimAll(adapter);
    expect(claimed).toHaveLength(40);
    expect(claimed.every((job) => job.input === input)).toBe(true);
  });
});
