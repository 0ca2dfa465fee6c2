import type { NewRecurringJob, StateAdapter, StateJob } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { migrate } from "./migrate.ts";
import { migrations } from "./migrations/index.ts";
import { createPgPoolProvider } from "./providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "./state-adapter.ts";
import { nameTables } from "./tables.ts";
import { dropSchema, newSchemaName } from "./testing/fixtures.ts";
import { claim, completionOf, newJob } from "./testing/test-jobs.ts";

// Workers of a version without recurring jobs and expiry, which may be alive for a while after a deployment. They write the
// columns that there were when they were built, and read no others.
const url = inject("postgres18Url");
const before = migrations.filter(({ version }) => version <= 3);

const leaseMs = 30_000;
const start = Date.parse("2030-01-01");
const recurrence = '{"id":"nightly","nominalAt":1,"missed":0}';

describe("beside workers that know neither recurring jobs nor expiry", () => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: url, max: 5 });
  const provider = createPgPoolProvider({ pool });
  let adapter: PgStateAdapter;

  /** What a worker of that version does, in its statements. */
  const older = {
    claim: async (now: number): Promise<string | undefined> => {
      const { rows } = await pool.query(
        `UPDATE ${schema}.job AS j SET status = 'running', ready = false, due_at = $1::bigint + ${leaseMs}, attempt = j.attempt + 1,
           lease_token = 'older', lease_version = j.lease_version + 1, leased_by = 'older', last_attempt_at = $1::bigint
         WHERE j.id = (SELECT id FROM ${schema}.job WHERE ready AND due_at <= $1::bigint
           ORDER BY lane, priority DESC, due_at, position LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
         RETURNING j.id`,
        [now],
      );
      return rows[0]?.id as string | undefined;
    },
    complete: (id: string, now: number) =>
      pool.query(
        `UPDATE ${schema}.job SET status = 'completed', ready = false, finished_at = $2::bigint, output = 'null',
           leased_by = NULL, completed_by = 'older' WHERE id = $1::uuid AND status = 'running' AND lease_token = 'older'`,
        [id, now],
      ),
    retry: (id: string, now: number) =>
      pool.query(
        `UPDATE ${schema}.job SET status = 'pending', ready = true, lease_token = NULL, leased_by = NULL, due_at = $2::bigint,
           scheduled_at = $2::bigint, last_error = 'again', last_failed_at = $2::bigint
         WHERE id = $1::uuid AND status = 'running' AND lease_token = 'older'`,
        [id, now],
      ),
    giveBack: (id: string) =>
      pool.query(
        `UPDATE ${schema}.job SET status = 'pending', ready = true, lease_token = NULL, leased_by = NULL,
           due_at = scheduled_at, attempt = attempt - 1
         WHERE id = $1::uuid AND status = 'running' AND lease_token = 'older'`,
        [id],
      ),
    reap: (now: number) =>
      pool.query(
        `UPDATE ${schema}.job SET status = 'pending', ready = true, lease_token = NULL, leased_by = NULL,
           expired_leases = expired_leases + 1, last_failed_at = due_at, scheduled_at = due_at
         WHERE status = 'running' AND due_at <= $1::bigint`,
        [now],
      ),
  };

  beforeAll(async () => {
    await migrate(provider, nameTables(`"${schema}"`, "uuid", "gen_random_uuid()"), before);
    // A job of theirs, so that the migration has to reckon with them.
    await pool.query(
      `INSERT INTO ${schema}.job (id, sequence_id, root_sequence_id, lane, created_at, due_at, finished_at, scheduled_at,
         sequence_created_at, status, priority, sequence_index, max_attempts, ready, queue, type_name, sequence_type_name, input)
       SELECT id, id, id, 1, 1, 1, 1, 1, 1, 'completed', 0, 0, 4, false, 'default', 'work', 'work', 'null'
       FROM gen_random_uuid() AS id`,
    );
    adapter = await createPgStateAdapter({ stateProvider: provider, schema });
  });

  afterAll(async () => {
    await adapter.close();
    await pool.end();
    await dropSchema(url, schema);
  });

  const create = async (overrides: Parameters<typeof newJob>[0], now: number): Promise<StateJob> => {
    const [created] = await adapter.createJobs({ jobs: [newJob(overrides)], now });
    return created!.job;
  };
  const expire = async (now: number): Promise<string[]> =>
    (await adapter.flow.expireWaitingJobs({ limit: 10, error: "too late", now })).map(({ job }) => job.id);
  const statusOf = async ({ id }: StateJob): Promise<string | undefined> =>
    (await adapter.getJobs({ jobIds: [id] }))[0]?.status;
  const finish = async (now: number): Promise<StateJob | undefined> => {
    const [job] = await claim(adapter as StateAdapter, { limit: 1, now });
    if (job !== undefined) await adapter.commitOutcomes({ outcomes: [completionOf(job)], now });
    return job;
  };

  it("a job that recurs keeps what it is for through their retries and lost leases", async () => {
    const job = await create({ recurrence }, start);
    expect(await older.claim(start)).toBe(job.id);
    await older.retry(job.id, start + 1_000);
    expect(await older.claim(start + 1_000)).toBe(job.id);
    await older.reap(start + 1_000 + leaseMs);
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
    expect(await older.claim(start)).toBe(job.id);
    await older.complete(job.id, start);
    const [row] = await adapter.flow.getRecurring({ ids: ["nightly"] });
    const [last] = await adapter.getSequences({ sequenceIds: [row!.lastSequenceId!] });
    expect(last?.current).toMatchObject({ status: "completed", completedBy: "older", recurrence });
    expect(await adapter.flow.nextRecurringIn({ now: start })).toBe(1_000);
  });

  it("a job that they have begun does not expire, neither running nor as a retry", async () => {
    const job = await create({ expireAfterMs: 1_000 }, start);
    expect(await older.claim(start)).toBe(job.id);
    expect(await expire(start + 5_000)).toEqual([]);
    await older.retry(job.id, start + 5_000);
    expect(await expire(start + 60_000)).toEqual([]);
    expect(await finish(start + 60_000)).toMatchObject({ id: job.id, expireAfterMs: 1_000 });
  });

  it("a job that they gave back expires, and then they do not find it", async () => {
    const job = await create({ expireAfterMs: 1_000 }, start);
    expect(await older.claim(start)).toBe(job.id);
    await older.giveBack(job.id);
    expect(await expire(start + 999)).toEqual([]);
    expect(await expire(start + 1_000)).toEqual([job.id]);
    expect(await older.claim(start + 2_000)).toBeUndefined();
    expect(await statusOf(job)).toBe("failed");
  });

  it("a job that they run cannot be changed, and one that they put back can", async () => {
    const job = await create({}, start);
    const update = () =>
      adapter.flow.updateWaitingJobs({
        jobIds: [job.id],
        change: { priority: 1 },
        now: start,
      });
    await older.claim(start);
    expect(await update()).toMatchObject([{ kind: "not_waiting" }]);
    await older.giveBack(job.id);
    expect(await update()).toMatchObject([{ kind: "changed" }]);
    expect(await finish(start)).toMatchObject({ id: job.id, priority: 1 });
  });
});
