import { type AttemptNote, type JobOutcome, mostAttempts, type StateJob } from "leasehold/adapter";
import Database from "libsql";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createSqliteStateAdapter } from "../state-adapter.ts";
import { claimAll, completion, newJob, noteOf } from "../testing/jobs.ts";
import { forkProcess, type ProcessMessage, type TestProcess } from "../testing/processes.ts";
import { createRecordingProvider } from "../testing/recording.ts";
import { createTestFolder, createTestStore, testDriver, type TestStore } from "../testing/store.ts";

let store: TestStore;

let processes: TestProcess[] = [];

beforeEach(async () => {
  store = await createTestStore();
});

afterEach(async () => {
  for (const child of processes) child.kill();
  await Promise.allSettled(processes.map(({ exited }) => exited));
  processes = [];
  await store.destroy();
});

const failure = (job: StateJob, note?: Partial<AttemptNote>): JobOutcome => ({
  ...completion(job),
  kind: "fail",
  reason: "unrecoverable",
  error: "failed",
  note: { ...noteOf(job), ...note },
});

it("attempts are deleted with their job, whichever statement deletes it", async () => {
  const { adapter } = store;
  await adapter.createJobs({ jobs: [newJob(), newJob()] });
  const claimed = await claimAll(adapter);
  await adapter.commitOutcomes({ outcomes: claimed.map((job) => failure(job)) });
  const jobIds = claimed.map(({ id }) => id);
  const countAttempts = async (): Promise<number[]> =>
    (await adapter.history.listAttempts({ jobIds })).map(({ length }) => length);
  expect(await countAttempts()).toEqual([1, 1]);
  await adapter.provideContext(async ({ client }) => {
    client.prepare("DELETE FROM leasehold_job WHERE id = ?").run(jobIds[0]);
  });
  expect(await countAttempts()).toEqual([0, 1]);
});

it("a fingerprint on a job that has not failed is not found", async () => {
  const { adapter } = store;
  await adapter.createJobs({ jobs: [newJob()] });
  const [job] = await claimAll(adapter);
  const fingerprint = "0123456789abcdef";
  const find = async (): Promise<number> => {
    const page = { order: "newest", limit: 10, after: null } as const;
    return (await adapter.listJobs({ filter: { fingerprints: [fingerprint] }, ...page })).jobs.length;
  };
  await adapter.commitOutcomes({ outcomes: [failure(job!, { fingerprint })] });
  expect(await find()).toBe(1);
  await adapter.provideContext(async ({ client }) => {
    client
      .prepare(
        "UPDATE leasehold_job SET status = 'pending', attempt = 0, failed_at = NULL, failure_reason = NULL",
      )
      .run();
  });
  expect(await find()).toBe(0);
  const [again] = await claimAll(adapter);
  await adapter.commitOutcomes({ outcomes: [failure(again!)] });
  expect(await find()).toBe(0);
});

it("a job that completes at its first attempt has nothing to do with the history", async () => {
  const folder = await createTestFolder();
  const file = join(folder, "jobs.db");
  const recording = createRecordingProvider(file);
  const adapter = await createSqliteStateAdapter({ stateProvider: recording.provider });
  recording.statements.length = 0;
  await adapter.createJobs({ jobs: Array.from({ length: 20 }, () => newJob()) });
  const started = recording.statements.length;
  const [first, ...more] = await claimAll(adapter);
  const locked = { ...completion(first!), locked: true };
  await adapter.commitOutcomes({ outcomes: [locked, ...more.map((job) => completion(job))] });
  await adapter.close();

  const database = new Database(file);
  const tables = new Map(
    database.prepare("SELECT rootpage, name FROM sqlite_master").raw().all() as [number, string][],
  );
  const written = new Set<string | undefined>();
  for (const sql of recording.statements.slice(started)) {
    if (!sql.startsWith("UPDATE")) continue;
    const values = (sql.match(/\?/g) ?? []).map(() => null);
    const steps = database.prepare(`EXPLAIN ${sql}`).raw().all(values) as unknown[][];
    for (const [, step, , page] of steps) if (step === "OpenWrite") written.add(tables.get(page as number));
  }
  database.close();
  await rm(folder, { recursive: true, force: true });
  expect(recording.statements.join()).not.toMatch(/attempt\b"|fingerprint|cause|statistics_bucket|process/);
  // Those that depend on the status, and no other.
  const names = ["", "_blocked", "_expiring", "_failed", "_pending", "_running"];
  expect(written).toEqual(new Set(names.map((name) => `leasehold_job${name}`)));
});

it("one attempt too many costs the first, and no job loses those of another", async () => {
  const { adapter } = store;
  await adapter.createJobs({ jobs: [newJob(), newJob()] });
  for (let round = 0; round <= mostAttempts; round += 1) {
    const [one, other] = await claimAll(adapter);
    const retry = { kind: "retry", schedule: { afterMs: 0 }, error: null } as const;
    const outcomes = [one!, other!].map((job) => ({ ...completion(job), ...retry }));
    // The second one has a history only now and then.
    const withNote = (index: number, job: StateJob): JobOutcome => ({
      ...outcomes[index]!,
      note: noteOf(job),
    });
    await adapter.commitOutcomes({
      outcomes: [withNote(0, one!), round % 10 === 0 ? withNote(1, other!) : outcomes[1]!],
    });
  }
  const { jobs } = await adapter.listJobs({ filter: {}, order: "oldest", limit: 2, after: null });
  const lists = await adapter.history.listAttempts({ jobIds: jobs.map(({ id }) => id) });
  const versions = lists.map((attempts) => attempts.map(({ leaseVersion }) => leaseVersion));
  const latest = Array.from({ length: mostAttempts }, (_, index) => mostAttempts + 1 - index);
  expect(versions.toSorted((a, b) => b.length - a.length)).toEqual([latest, [21, 11, 1]]);
});

const run = (name: "retry" | "roll-up", onMessage: (message: ProcessMessage) => void): TestProcess => {
  const child = forkProcess(name, { file: store.file, driver: testDriver }, onMessage);
  processes.push(child);
  return child;
};

it("whenever a process is killed, an attempt is stored if and only if its outcome is", async () => {
  const { adapter } = store;
  const jobs = Array.from({ length: 50 }, () => newJob({ maxAttempts: 1_000 }));
  await adapter.createJobs({ jobs });
  for (let kill = 0; kill < 3; kill += 1) {
    const wanted = 20 + Math.random() * 100;
    let failed = 0;
    await new Promise<void>((resolve) => {
      const child = run("retry", (message) => {
        failed += message.failed ?? 0;
        if (failed > wanted) child.kill();
      });
      void child.exited.then(resolve);
    });
    const jobIds = jobs.map(({ id }) => id);
    const stored = await adapter.getJobs({ jobIds });
    const attempts = await adapter.history.listAttempts({ jobIds });
    const ended = stored.map((job) => job!.leaseVersion - (job!.status === "running" ? 1 : 0));
    expect(attempts.map(({ length }) => length)).toEqual(ended.map((count) => Math.min(count, mostAttempts)));
    expect(ended.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(failed);
  }
});

it(
  "two processes that roll up at once count nothing twice and lose nothing",
  { timeout: 60_000 },
  async () => {
    const { adapter } = store;
    const [times, reporters] = [20, 20];
    for (let number = 1; number <= reporters; number += 1) {
      const reporter = { id: `reporter-${number}`, deployment: null, startedAt: 0, info: "" };
      const buckets = Array.from({ length: times }, (_, index) => ({
        bucketMs: 10,
        from: index * 10,
        queue: "queue",
        typeName: "type",
        deployment: "",
        processId: reporter.id,
        counts: String(number),
      }));
      await adapter.history.writeReport({ reporter, buckets, causes: [], maxAgeMs: 100_000, now: 1_000 });
    }
    let [rolledUp, refused] = [0, 0];
    const children = [1, 2].map(() =>
      run("roll-up", (message) => {
        rolledUp += message.rolledUp ?? 0;
        refused += message.refused ?? 0;
      }),
    );
    await Promise.all(children.map(({ ready }) => ready));
    for (const child of children) child.begin();
    await Promise.all(children.map(({ exited }) => exited));
    const left = await adapter.history.readBuckets({ bucketMs: 10, from: 0, before: 1_000, limit: 1_000 });
    const sum = (reporters * (reporters + 1)) / 2;
    expect(left.map(({ from, counts }) => [from, Number(counts)])).toEqual(
      Array.from({ length: times }, (_, index) => [index * 10, sum]),
    );
    expect(rolledUp).toBe(times * (reporters - 1));
    expect(refused).toBeGreaterThan(0);
  },
);
