import type { JobOutcome, StateJob } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { createPgPoolStateProvider, type PgContext } from "../providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { newSchemaName } from "../testing/fixtures.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";

type Context = PgContext<pg.PoolClient>;

const schema = newSchemaName();
let pool: pg.Pool;
let adapter: PgStateAdapter<Context, Context>;
beforeAll(async () => {
  // One connection: a transaction that was left open would keep the next test waiting.
  pool = new pg.Pool({ connectionString: inject("postgres18Url"), max: 1 });
  adapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }), schema });
  await pool.query(`CREATE TABLE ${schema}.ledger (n int NOT NULL)`);
});
afterAll(async () => {
  await adapter.close();
  await pool.end();
});
beforeEach(async () => {
  await pool.query(`TRUNCATE ${schema}.ledger, ${schema}.job CASCADE`);
});

const complete = (job: StateJob): JobOutcome => ({ ...completionOf(job), locked: true });

interface Attempt {
  readonly jobs: readonly StateJob[];
  readonly outcomes: readonly JobOutcome[];
  readonly isolationLevel?: "serializable";
  /** Between the write of the user and the completion. */
  readonly meanwhile?: (ctx: Context) => Promise<unknown>;
}

/** As a handler does it: the lock, the user's write, and a completion that goes out with the commit. */
const commitLast = ({ jobs, outcomes, isolationLevel, meanwhile }: Attempt): Promise<unknown> =>
  adapter.runInTransaction(
    async (ctx) => {
      const leases = jobs.map(({ id, leaseToken }) => ({ jobId: id, leaseToken: leaseToken! }));
      await adapter.lockHeldJobs({ ctx, leases });
      await ctx.client.query(`INSERT INTO ${schema}.ledger VALUES (1)`);
      await meanwhile?.(ctx);
      return adapter.commitOutcomes({ ctx, outcomes, isLast: true });
    },
    undefined,
    { beginsWithCall: true, isolationLevel },
  );

const claimSome = async (count: number): Promise<StateJob[]> => {
  await adapter.createJobs({ jobs: Array.from({ length: count }, () => newJob()) });
  return claim(adapter, { limit: count });
};

const stored = async (): Promise<object> => {
  const { rows: statuses } = await pool.query(`SELECT status::text FROM ${schema}.job`);
  const { rowCount: written } = await pool.query(`SELECT FROM ${schema}.ledger`);
  return { statuses: statuses.map(({ status }) => status as string), written };
};

const loseLease = (job: StateJob) => (ctx: Context) =>
  ctx.client.query(`UPDATE ${schema}.job SET lease_token = 'another' WHERE id = $1`, [job.id]);

describe("a completion that goes out with the commit", () => {
  it.each([undefined, "serializable"] as const)(
    "commits the user's write, at the level %s",
    async (level) => {
      const jobs = await claimSome(2);
      await commitLast({ jobs, outcomes: jobs.map(complete), ...(level && { isolationLevel: level }) });
      expect(await stored()).toEqual({ statuses: ["completed", "completed"], written: 1 });
    },
  );

  it.each([
    ["one job", 1, {}],
    ["one of several", 3, {}],
    ["a job that is not kept", 1, { keep: false }],
    ["one of several that are not kept", 3, { keep: false }],
  ])("commits nothing when the lease of %s is lost after the lock", async (_what, count, options) => {
    const jobs = await claimSome(count);
    const outcomes = jobs.map((job) => ({ ...complete(job), ...options }));
    const failure: unknown = await commitLast({ jobs, outcomes, meanwhile: loseLease(jobs[0]!) }).catch(
      (error: unknown) => error,
    );
    // Rolled back for certain, so that the transaction may run again, with a new lock.
    expect(adapter.isConflictRollback(failure)).toBe(true);
    expect(await stored()).toEqual({ statuses: jobs.map(() => "running"), written: 0 });
  });

  it("commits nothing when the user has caught the error of a statement", async () => {
    const jobs = await claimSome(1);
    const meanwhile = (ctx: Context) => ctx.client.query("SELECT 1 / 0").catch(() => {});
    await expect(commitLast({ jobs, outcomes: jobs.map(complete), meanwhile })).rejects.toThrow(
      "current transaction is aborted",
    );
    expect(await stored()).toEqual({ statuses: ["running"], written: 0 });
  });

  it("commits what is left after a savepoint was rolled back", async () => {
    const jobs = await claimSome(1);
    const meanwhile = (ctx: Context) =>
      adapter
        .runInTransaction(async (inner) => {
          await inner.client.query(`INSERT INTO ${schema}.ledger VALUES (2)`);
          throw new Error("undo");
        }, ctx)
        .catch(() => {});
    await commitLast({ jobs, outcomes: jobs.map(complete), meanwhile });
    expect(await stored()).toEqual({ statuses: ["completed"], written: 1 });
  });
});
