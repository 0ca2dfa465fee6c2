import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { NewRecurringJob, StateJob } from "leasehold/adapter";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SqliteConnection } from "./connection/connection.ts";
import { createJobTables } from "./migrations/0001-jobs.ts";
import { addAttemptColumns } from "./migrations/0002-attempts.ts";
import { indexBlockedJobs } from "./migrations/0003-blocked-jobs.ts";
import { createSqliteStateAdapter, type SqliteStateAdapter } from "./state-adapter.ts";
import { nameTables } from "./tables.ts";
import { completion, newJob } from "./testing/jobs.ts";
import { createTestFolder, openRaw, testDriver } from "./testing/store.ts";

// Workers of a version without recurring jobs and expiry, which may be alive for a while after a deployment. They write the
// columns that there were when they were built, and read no others.

const leaseMs = 30_000;
const start = Date.parse("2030-01-01");
const recurrence = '{"id":"nightly","nominalAt":1,"missed":0}';
const tables = nameTables("leasehold_");

describe("beside workers that know neither recurring jobs nor expiry", () => {
  let folder: string;
  let adapter: SqliteStateAdapter;
  let db: SqliteConnection;

  /** What a worker of that version does, in its statements. */
  const held = "WHERE id = ? AND status = 'running' AND lease_token = 'older'";
  const older = {
    claim: (now: number): unknown => {
      const [seq] =
        db.first(
          `SELECT seq FROM ${tables.job} INDEXED BY ${tables.pendingIndex}
           WHERE status = 'pending' AND queue = 'queue' AND type_name = 'type' AND scheduled_at <= ?
           ORDER BY priority DESC, scheduled_at, seq LIMIT 1`,
          [now],
        ) ?? [];
      if (seq === undefined) return undefined;
      db.run(
        `UPDATE ${tables.job} SET status = 'running', attempt = attempt + 1, lease_token = 'older',
           lease_version = lease_version + 1, leased_by = 'older', leased_until = ?, last_attempt_at = ? WHERE seq = ?`,
        [now + leaseMs, now, seq as number],
      );
      return db.first(`SELECT id FROM ${tables.job} WHERE seq = ?`, [seq as number])?.[0];
    },
    complete: (id: string, now: number) =>
      db.run(
        `UPDATE ${tables.job} SET status = 'completed', completed_at = ?, completed_by = 'older', output = 'null',
           leased_by = NULL, leased_until = NULL ${held}`,
        [now, id],
      ),
    retry: (id: string, now: number) =>
      db.run(
        `UPDATE ${tables.job} SET status = 'pending', lease_token = NULL, leased_by = NULL, leased_until = NULL,
           scheduled_at = ?, last_error = 'again', last_failed_at = ? ${held}`,
        [now, now, id],
      ),
    giveBack: (id: string) =>
      db.run(
        `UPDATE ${tables.job} SET status = 'pending', lease_token = NULL, leased_by = NULL, leased_until = NULL,
           attempt = attempt - 1 ${held}`,
        [id],
      ),
    reap: (now: number) =>
      db.run(
        `UPDATE ${tables.job} INDEXED BY ${tables.runningIndex} SET status = 'pending', lease_token = NULL, leased_by = NULL,
           expired_leases = expired_leases + 1, last_failed_at = leased_until, scheduled_at = leased_until, leased_until = NULL
         WHERE status = 'running' AND leased_until <= ?`,
        [now],
      ),
  };

  beforeAll(async () => {
    folder = await createTestFolder();
    const file = join(folder, "jobs.db");
    db = await openRaw(file);
    const earlier = [createJobTables(tables, "TEXT"), addAttemptColumns(tables), indexBlockedJobs(tables)];
    for (const sql of earlier.flat()) db.exec(sql);
    db.exec(
      `CREATE TABLE ${tables.migration} (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL);
       INSERT INTO ${tables.migration} VALUES (1, 'jobs', 0), (2, 'attempts', 0), (3, 'blocked-jobs', 0)`,
    );
    // A job of theirs, so that the migration has to reckon with them.
    db.exec(`INSERT INTO ${tables.job} (id, status, queue, type_name, priority, scheduled_at, max_attempts, sequence_id,
        sequence_type_name, sequence_index, sequence_created_at, root_sequence_id, created_at, on_blocker_failure, input,
        completed_at)
      VALUES ('a', 'completed', 'queue', 'type', 0, 1, 4, 'a', 'type', 0, 1, 'a', 1, 'fail', 'null', 1)`);
    adapter = await createSqliteStateAdapter({ file, driver: testDriver });
  });

  afterAll(async () => {
    await adapter.close();
    db.close();
    await rm(folder, { recursive: true, force: true });
  });

  const create = async (overrides: Parameters<typeof newJob>[0], now: number): Promise<StateJob> => {
    const [created] = await adapter.createJobs({ jobs: [newJob(overrides)], now });
    return created!.job;
  };
  const expire = async (now: number): Promise<string[]> =>
    (await adapter.flow.expireWaitingJobs({ limit: 10, error: "too late", now })).map(({ job }) => job.id);
  const finish = async (now: number): Promise<StateJob | undefined> => {
    const [job] = await adapter.claimJobs({
      workerId: "worker",
      leaseToken: `newer-${now}`,
      leaseMs,
      requests: [{ queue: "queue", typeNames: null, limit: 1 }],
      limit: 1,
      now,
    });
    if (job !== undefined) await adapter.commitOutcomes({ outcomes: [completion(job)], now });
    return job;
  };

  it("a job that recurs keeps what it is for through their retries and lost leases", async () => {
    const job = await create({ recurrence }, start);
    expect(older.claim(start)).toBe(job.id);
    older.retry(job.id, start + 1_000);
    expect(older.claim(start + 1_000)).toBe(job.id);
    older.reap(start + 1_000 + leaseMs);
    expect(await finish(start + 2_000 + leaseMs)).toMatchObject({ id: job.id, recurrence, attempt: 3 });
  });

  it("a tick starts a job, they run it, and the next tick sees that it has finished", async () => {
    const nightly: NewRecurringJob = {
      id: "nightly",
      owner: null,
      paused: false,
      version: 1,
      nextNominalAt: start,
      fireAt: start,
      lastSequenceId: null,
      zoneData: "",
      record: "{}",
      definition: "{}",
    };
    await adapter.runInTransaction(async (ctx) => {
      await adapter.flow.lockRecurring({ ctx, id: "nightly", now: start });
      await adapter.flow.putRecurring({ ctx, job: nightly, now: start });
    });
    const job = await adapter.runInTransaction(async (ctx) => {
      const { jobs } = await adapter.flow.lockDueRecurring({ ctx, limit: 10, zoneData: null, now: start });
      expect(jobs.map(({ id }) => id)).toEqual(["nightly"]);
      const [created] = await adapter.createJobs({ ctx, jobs: [newJob({ recurrence })], now: start });
      const moved = { ...nightly, fireAt: start + 1_000, lastSequenceId: created!.job.id };
      await adapter.flow.advanceRecurring({ ctx, jobs: [moved], now: start });
      return created!.job;
    });
    expect(older.claim(start)).toBe(job.id);
    older.complete(job.id, start);
    const [row] = await adapter.flow.getRecurring({ ids: ["nightly"] });
    const [last] = await adapter.getSequences({ sequenceIds: [row!.lastSequenceId!] });
    expect(last?.current).toMatchObject({ status: "completed", completedBy: "older", recurrence });
    expect(await adapter.flow.nextRecurringIn({ now: start })).toBe(1_000);
  });

  it("a job that they have begun does not expire, neither running nor as a retry", async () => {
    const job = await create({ expireAfterMs: 1_000 }, start);
    expect(older.claim(start)).toBe(job.id);
    expect(await expire(start + 5_000)).toEqual([]);
    older.retry(job.id, start + 5_000);
    expect(await expire(start + 60_000)).toEqual([]);
    expect(await finish(start + 60_000)).toMatchObject({ id: job.id, expireAfterMs: 1_000 });
  });

  it("a job that they gave back expires, and then they do not find it", async () => {
    const job = await create({ expireAfterMs: 1_000 }, start);
    expect(older.claim(start)).toBe(job.id);
    older.giveBack(job.id);
    expect(await expire(start + 999)).toEqual([]);
    expect(await expire(start + 1_000)).toEqual([job.id]);
    expect(older.claim(start + 2_000)).toBeUndefined();
    expect((await adapter.getJobs({ jobIds: [job.id] }))[0]?.status).toBe("failed");
  });

  it("a job that they run cannot be changed, and one that they put back can", async () => {
    const job = await create({}, start);
    const update = () =>
      adapter.flow.updateWaitingJobs({ jobIds: [job.id], change: { priority: 1 }, now: start });
    older.claim(start);
    expect(await update()).toMatchObject([{ kind: "not_waiting" }]);
    older.giveBack(job.id);
    expect(await update()).toMatchObject([{ kind: "changed" }]);
    expect(await finish(start)).toMatchObject({ id: job.id, priority: 1 });
  });
});
