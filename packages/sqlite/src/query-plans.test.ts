import type { JobFilter, StateJob } from "leasehold/adapter";
import Database from "libsql";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createSqliteStateAdapter, type SqliteStateAdapter } from "./state-adapter.ts";
import { claimAll, completion, newJob, noteOf } from "./testing/jobs.ts";
import { createRecordingProvider, type RecordingProvider } from "./testing/recording.ts";
import { createTestFolder } from "./testing/store.ts";

let folder: string;

let file: string;

let recording: RecordingProvider;

let adapter: SqliteStateAdapter<object>;

beforeEach(async () => {
  folder = await createTestFolder();
  file = join(folder, "jobs.db");
  recording = createRecordingProvider(file);
  adapter = await createSqliteStateAdapter({ stateProvider: recording.provider });
  recording.statements.length = 0;
});

afterEach(async () => {
  await adapter.close();
  await rm(folder, { recursive: true, force: true });
});

interface Plan {
  readonly sql: string;
  readonly details: readonly string[];
}

/** The query plan of every statement so far. */
const readPlans = (): Plan[] => {
  const database = new Database(file);
  const plans: Plan[] = [];
  for (const sql of new Set(recording.statements)) {
    if (!/^\s*(SELECT|UPDATE|DELETE|INSERT)/.test(sql)) continue;
    const named = [...sql.matchAll(/\?(\d+)/g)].map(([, number]) => Number(number));
    const count = named.length > 0 ? Math.max(...named) : (sql.match(/\?/g) ?? []).length;
    const values = Array.from({ length: count }, () => null);
    const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).raw().all(values);
    plans.push({ sql, details: (steps as unknown[][]).map((step) => String(step[3])) });
  }
  database.close();
  return plans;
};

/** The steps of every statement so far that scan or sort a whole table. */
const findScans = (): string[] => {
  const scans = new Set<string>();
  for (const { sql, details } of readPlans()) {
    for (const detail of details) {
      // Reads the rows of another step, one at a time, until there are enough.
      if (details.includes(detail.replace(/^SCAN /, "CO-ROUTINE "))) continue;
      const isScan = /^SCAN (?!.*VIRTUAL TABLE)(?!\(subquery|CONSTANT|s$)/.test(detail);
      // Goes through an index of just these in order, and ends with the page. That is not a scan.
      if (
        /USING (COVERING )?INDEX leasehold_job_(running|failed|created|pending|blocked|failure_cause)$/.test(
          detail,
        )
      )
        continue;
      // One row for each queue and type with rules or groups, and for each process that reports.
      if (/^SCAN leasehold_(limit_rule|process)$/.test(detail)) continue;
      if (isScan) scans.add(`${detail}: ${sql.replaceAll(/\s+/g, " ").slice(0, 120)}`);
    }
  }
  return [...scans];
};

const list = (filter: JobFilter): Promise<unknown> =>
  adapter.listJobs({ filter, order: "newest", limit: 10, after: { createdAt: 5, id: "a" } });

it("no call of a worker or a starter goes through a whole table", async () => {
  const deduplication = { key: "key", scope: "unfinished", windowMs: null } as const;
  const [first, second, third] = [newJob(), newJob({ deduplication }), newJob({ priority: 3 })];
  await adapter.createJobs({ jobs: [first, second, third] });
  await adapter.createJobs({ jobs: [newJob({ deduplication: { ...deduplication, scope: "all" } })] });
  const waiting = await adapter.runInTransaction(async (ctx): Promise<StateJob> => {
    const job = newJob({ awaitsBlockers: true });
    await adapter.createJobs({ jobs: [job], ctx });
    return adapter.addJobBlockers({ jobId: job.id, blockerSequenceIds: [first.id, second.id], ctx });
  });
  const requests = [{ queue: "queue", typeNames: ["type", "other"], limit: 5 }];
  await adapter.nextRunnableIn({ requests: [...requests, { queue: "queue", typeNames: null }] });
  const [running, ...more] = await claimAll(adapter);
  await adapter.claimJobs({ workerId: "w", leaseToken: "t", leaseMs: 1, requests, limit: 5, isRepeat: true });
  await adapter.renewLeases({
    leases: [{ jobId: running!.id, leaseToken: running!.leaseToken!, leaseMs: 9_000 }],
  });
  await adapter.commitOutcomes({
    outcomes: [
      completion(running!),
      ...more.map((job) => ({
        ...completion(job),
        kind: "fail" as const,
        reason: "unrecoverable" as const,
        error: null,
        // The last of these begins to forget the first attempts.
        note: { ...noteOf(job), leaseVersion: 99 },
      })),
    ],
  });
  await adapter.redriveJobs({ jobIds: [first.id, second.id, waiting.id] });
  await claimAll(adapter);
  await adapter.reapExpiredLeases({ limit: 10, error: "expired", now: Date.now() + 100_000 });
  await adapter.cancelSequences({ sequenceIds: [first.id], error: "stopped" });
  await adapter.countAhead({ jobId: second.id, cap: 10 });
  await adapter.statistics.measureBacklog({ cap: 10 });
  await adapter.getSequences({ sequenceIds: [first.id] });
  await adapter.getBlockers({ jobIds: [waiting.id] });
  await adapter.listBlockedJobs({ sequenceId: first.id, limit: 10, after: null });
  await adapter.pruneSequences({
    rules: [{ sequenceTypeNames: null, completedBefore: Date.now() + 1, failedBefore: Date.now() + 1 }],
    limit: 10,
    after: null,
  });
  await adapter.deleteSequences({ rootSequenceIds: [second.id, waiting.id] });
  const replacing = { key: "k", scope: "pending", windowMs: null, onDuplicate: "replace" } as const;
  const replaced = [1, 2].map(() => newJob({ deduplication: replacing, expireAfterMs: 1 }));
  await adapter.createJobs({ jobs: replaced });
  await adapter.createJobs({ jobs: [newJob({ deduplication: { ...replacing, scope: "all" } })] });
  await adapter.edits.updateWaitingJobs({ jobIds: [replaced[0]!.id], change: { priority: 2 } });
  await adapter.edits.expireWaitingJobs({ limit: 10, error: "too late", now: Date.now() + 60_000 });
  expect(recording.statements.length).toBeGreaterThan(60);
  expect(findScans()).toEqual([]);
});

it("nor does a call under rules, and throttled jobs are not read", async () => {
  const scope = { queue: "queue", typeName: "type" };
  const limits = { concurrency: 2, rate: { limit: 9, perMs: 1_000, burst: 9 } };
  await adapter.limits.setRule({ ...scope, typeName: null, change: limits });
  await adapter.limits.setRule({
    ...scope,
    change: { concurrency: 9, perGroup: limits, weights: { b: 2 } },
  });
  const ordered = { group: "c", ordered: "stop" } as const;
  const held = Array.from({ length: 300 }, () => newJob({ group: "a" }));
  await adapter.createJobs({ jobs: held });
  expect(await claimAll(adapter)).toHaveLength(2);
  await adapter.limits.setRule({ ...scope, typeName: null, change: { concurrency: 9 } });
  await adapter.createJobs({ jobs: [newJob(), newJob({ group: "b" }), newJob(ordered), newJob(ordered)] });
  await adapter.createJobs({ jobs: [newJob({ group: "b", schedule: { afterMs: 50_000 } })] });
  const claimed = await claimAll(adapter);
  expect(claimed.map(({ group }) => group ?? "none").sort()).toEqual(["b", "c", "none"]);
  const [first, ...more] = claimed;
  await adapter.commitOutcomes({ outcomes: more.map((job) => completion(job)) });
  const failure = { kind: "fail", reason: "unrecoverable", error: null } as const;
  await adapter.commitOutcomes({ outcomes: [{ ...completion(first!), ...failure }] });
  await adapter.redriveJobs({ jobIds: [first!.id] });
  const now = Date.now() + 40_000;
  await adapter.nextRunnableIn({ requests: [{ queue: "queue", typeNames: null }], now });
  const requests = [{ queue: "queue", typeNames: ["type"], limit: 5 }];
  await adapter.claimJobs({ workerId: "w", leaseToken: "t", leaseMs: 1, requests, limit: 5, now });
  await adapter.reapExpiredLeases({ limit: 10, error: "expired", now: now + 100_000 });
  await adapter.claimJobs({
    workerId: "w",
    leaseToken: "u",
    leaseMs: 1,
    requests,
    limit: 5,
    now: now + 20_000,
  });
  await adapter.cancelSequences({ sequenceIds: [held[9]!.id], error: "stopped" });
  await adapter.deleteSequences({ rootSequenceIds: [held[8]!.id] });
  await adapter.limits.resumeGroup({ ...scope, group: "c" });
  await adapter.limits.explainThrottle({ jobId: held[99]!.id });
  await adapter.countAhead({ jobId: held[99]!.id, cap: 1_000 });
  await adapter.limits.listRules({ queue: "queue" });
  await adapter.limits.listGroups({ ...scope, order: "waiting", limit: 10 });
  await adapter.limits.listGroups({ ...scope, order: "name", limit: 10, after: "a" });
  expect(findScans()).toEqual([]);

  // A full group is in no index that a claim reads, however many jobs wait in it.
  const plans = readPlans().filter(({ sql }) =>
    /leasehold_job_group|leasehold_group_state_claimable/.test(sql),
  );
  expect(plans.length).toBeGreaterThan(8);
  for (const { sql, details } of plans)
    for (const detail of details)
      if (/leasehold_(job_group|group_state_claimable)/.test(detail))
        expect(`${detail}: ${sql}`).toMatch(/\((claim_key|limit_rule_id)=\?/);
});

it("a full group with many jobs is closed, and stays closed when more of them come", async () => {
  const database = new Database(file);
  const readOpen = (): unknown[] =>
    database.prepare("SELECT group_key, claimable FROM leasehold_group_state ORDER BY group_key").raw().all();
  const perGroup = { concurrency: 1, rate: null };
  await adapter.limits.setRule({ queue: "queue", typeName: "type", change: { perGroup } });
  await adapter.createJobs({ jobs: Array.from({ length: 100 }, () => newJob({ group: "a" })) });
  expect(await claimAll(adapter)).toHaveLength(1);
  expect(readOpen()).toEqual([["a", 0]]);
  await adapter.createJobs({ jobs: [newJob({ group: "a" }), newJob({ group: "b" })] });
  expect((await claimAll(adapter)).map(({ group }) => group)).toEqual(["b"]);
  expect(readOpen()).toEqual([
    ["a", 0],
    ["b", 0],
  ]);
  database.close();
});

it("jobs without a group in a queue without rules touch no table of limits", async () => {
  const rule = { queue: "elsewhere", typeName: null, change: { concurrency: 1 } };
  await adapter.limits.setRule(rule);
  await adapter.createJobs({ jobs: [newJob({ queue: "elsewhere", group: "a" })] });
  recording.statements.length = 0;
  await adapter.createJobs({ jobs: Array.from({ length: 20 }, () => newJob()) });
  await adapter.nextRunnableIn({ requests: [{ queue: "queue", typeNames: null }] });
  const [first, ...more] = await claimAll(adapter);
  await adapter.commitOutcomes({ outcomes: more.map((job) => completion(job)) });
  const retry = { kind: "retry", schedule: { afterMs: 0 }, error: null } as const;
  await adapter.commitOutcomes({ outcomes: [{ ...completion(first!), ...retry }] });
  const ofLimits = recording.statements.filter((sql) => /leasehold_(limit_rule|group_state)/.test(sql));
  expect(ofLimits).toEqual(
    ofLimits.filter((sql) => sql.startsWith("SELECT id, queue, type_name, rule FROM")),
  );
  const epochs = recording.statements.filter((sql) => sql.includes("leasehold_limit_epoch"));
  expect(epochs.length).toBeLessThanOrEqual(3);
});

it("what is kept of the past is found by key or in order, and reports do not look for anything", async () => {
  const { history } = adapter;
  const bucket = { bucketMs: 10, from: 20, queue: "queue", typeName: "type", deployment: "", counts: "{}" };
  const buckets = ["a", "b"].map((processId) => ({ ...bucket, processId }));
  const cause = { fingerprint: "f", name: "Error", message: "", frame: null, deployment: null };
  const reporter = { id: "a", deployment: null, startedAt: 1, info: "" };
  await history.writeReport({ reporter, buckets, causes: [cause], maxAgeMs: 100, now: 50 });
  expect(recording.statements.filter((sql) => !/^(BEGIN|COMMIT|SAVEPOINT|RELEASE)/.test(sql))).toHaveLength(
    3,
  );
  await history.listProcesses({ seenFrom: 0, limit: 10 });
  const scope = { queues: ["queue"], typeNames: ["type"] };
  await history.readBuckets({ bucketMs: 10, from: 0, before: 100, limit: 10 });
  await history.readBuckets({ bucketMs: 10, from: 0, before: 100, limit: 10, ...scope });
  await history.rollUpBuckets({ remove: buckets, put: [{ ...bucket, processId: "" }] });
  await history.deleteOldReports({
    processesBefore: 100,
    causesBefore: 100,
    buckets: [{ bucketMs: 10, before: 100 }],
    limit: 10,
  });
  await history.listCauses({ cap: 10 });
  await history.listCauses({ cap: 10, ...scope });
  await history.listAttempts({ jobIds: ["a", "b"] });
  expect(findScans()).toEqual([]);
  // A page of buckets is not sorted, and single buckets are found by the whole key.
  const plans = readPlans().filter(({ sql }) => /leasehold_statistics_bucket/.test(sql));
  expect(plans.length).toBeGreaterThan(6);
  for (const { details } of plans) expect(details.join()).not.toContain("ORDER BY");
  const byKey = plans.filter(({ sql }) =>
    /^DELETE FROM "leasehold_statistics_bucket"|JOIN "leasehold_statistics_bucket"/.test(sql),
  );
  expect(byKey).toHaveLength(3);
  for (const { details } of byKey)
    expect(details.join()).toMatch(/PRIMARY KEY \(bucket_ms=\?.*process_id=\?\)/);
});

it("failed jobs are found by what they failed from, and running jobs by who holds them", async () => {
  // Statistics as if a hundred thousand jobs had failed from ten things.
  const database = new Database(file);
  database.exec(`ANALYZE; INSERT INTO sqlite_stat1 VALUES
    ('leasehold_job', 'leasehold_job_fingerprint', '100000 10000 1'),
    ('leasehold_job', 'leasehold_job_failed', '100000 1 1'),
    ('leasehold_job', 'leasehold_job_created', '200000 1 1')`);
  database.close();
  for (const fingerprints of [["a"], ["a", "b"]]) {
    for (const filter of [{ fingerprints }, { fingerprints, statuses: ["failed"] as const }]) {
      await list(filter);
      await adapter.countJobs({ filter });
    }
  }
  const byFingerprint = readPlans().filter(({ sql }) => sql.includes("j.fingerprint"));
  expect(byFingerprint).toHaveLength(8);
  for (const { details } of byFingerprint)
    expect(details).toContainEqual(expect.stringMatching(/INDEX leasehold_job_fingerprint \(fingerprint=\?/));
  const ofOne = byFingerprint.filter(({ sql }) => /j.fingerprint IN \(\?\).*LIMIT/s.test(sql));
  expect(ofOne).toHaveLength(2);
  for (const { details } of ofOne) expect(details.join()).not.toContain("USE TEMP B-TREE FOR ORDER BY");
  recording.statements.length = 0;
  await list({ leasedBy: ["worker"] });
  await adapter.countJobs({ filter: { leasedBy: ["worker"] } });
  const byHolder = readPlans();
  expect(byHolder).toHaveLength(2);
  for (const { details } of byHolder)
    expect(details).toContainEqual(expect.stringContaining("INDEX leasehold_job_running"));
});

it("neither does a listing, in order or narrowed down", async () => {
  for (const filter of [
    {},
    { ids: ["a"] },
    { statuses: ["failed"] },
    { statuses: ["failed"], queues: ["queue"] },
    { statuses: ["running"] },
    { statuses: ["blocked"] },
    { statuses: ["pending", "running"], queues: ["queue"] },
    { sequenceId: "a" },
    { rootSequenceId: "a" },
    { createdFrom: 5 },
    { firstOf: "sequence" },
    { firstOf: "tree", sequenceTypeNames: ["type"] },
    { deduplicationKeys: ["a"] },
    { deduplicationKeys: ["a"], sequenceTypeNames: ["type"] },
    { groups: ["a"] },
    { groups: ["a", "b"] },
    { recurringJobIds: ["a"], typeNames: ["type"] },
    { recurringJobIds: ["a", "b"] },
  ] as const) {
    await list(filter);
  }
  await adapter.listJobs({ filter: { statuses: ["failed"] }, order: "oldest", limit: 10, after: null });
  expect(findScans()).toEqual([]);
});

it("jobs of a state are found by the index of that state, and those of a key by that of keys", async () => {
  for (const filter of [{ statuses: ["blocked", "pending"] }, { deduplicationKeys: ["a"] }] as const) {
    recording.statements.length = 0;
    await list(filter);
    const plans = readPlans();
    expect(plans).not.toEqual([]);
    for (const { details } of plans)
      expect(details.join(), JSON.stringify(filter)).toMatch(/INDEX leasehold_job_(blocked|key)/);
  }
});

it("jobs of a group or of a recurring job are found by an index in the order of the page", async () => {
  for (const [filter, index] of [
    [{ groups: ["a"] }, "own_group"],
    [{ groups: ["a"], typeNames: ["type"] }, "own_group"],
    [{ recurringJobIds: ["a"] }, "recurring"],
    [{ recurringJobIds: ["a"], statuses: ["completed"] }, "recurring"],
  ] as const) {
    recording.statements.length = 0;
    await list(filter);
    const plans = readPlans();
    expect(plans).not.toEqual([]);
    for (const { details } of plans) {
      expect(details.join(), JSON.stringify(filter)).toContain(`INDEX leasehold_job_${index} (`);
      expect(details.join(), JSON.stringify(filter)).not.toContain("TEMP B-TREE");
    }
  }
});

it("jobs are found by the key and the type of their sequence, not in passing through all", async () => {
  const filter = { deduplicationKeys: ["a"], sequenceTypeNames: ["type"] };
  // Statistics as if five keys had been used for a hundred thousand jobs.
  const database = new Database(file);
  database.exec(`ANALYZE; INSERT INTO sqlite_stat1 VALUES
    ('leasehold_job', 'leasehold_job_key', '100000 100000 20000 1'),
    ('leasehold_job', 'leasehold_job_created', '100000 1 1')`);
  database.close();
  await list(filter);
  await adapter.listJobs({ filter, order: "oldest", limit: 10, after: null });
  await adapter.countJobs({ filter });
  const ofJobs = readPlans().filter(({ sql }) => sql.includes("deduplication_key"));
  expect(ofJobs).toHaveLength(3);
  for (const { details } of ofJobs)
    expect(details).toContainEqual(expect.stringContaining("USING INDEX leasehold_job_key"));
});
