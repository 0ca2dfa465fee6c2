import type { ClaimRequest, JobOutcome, NewJob, StateJob } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { createPageCounter, type PageCounter, type StatementPages } from "../testing/page-counter.ts";
import { createPgFixture, dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { multiplyJobs } from "../testing/multiply-jobs.ts";
import { claim, completionOf, failureOf, newJob } from "../testing/test-jobs.ts";

describe("a claim never takes more than it was asked for", () => {
  const withoutJoins = ["hashjoin", "mergejoin", "material"].map((kind) => `-c enable_${kind}=off`).join(" ");

  it.each(["postgres18Url", "postgres15Url"] as const)(
    "with nothing but nested loops (%s)",
    async (server) => {
      const url = new URL(inject(server));
      url.searchParams.set("options", withoutJoins);
      const { adapter, destroy } = await createPgFixture(url.href);
      try {
        await adapter.createJobs({ jobs: Array.from({ length: 50 }, () => newJob()) });
        expect(await claim(adapter, { limit: 1 })).toHaveLength(1);
        const request = (typeName: string): ClaimRequest => ({
          queue: "default",
          typeNames: [typeName],
          limit: 1,
        });
        const requests = [request("work"), request("other")];
        expect(await claim(adapter, { limit: 1, requests })).toHaveLength(1);
        expect(await claim(adapter, { limit: 50, requests })).toHaveLength(1);
        expect(
          await claim(adapter, { limit: 3, requests: [{ ...request("work"), limit: 50 }] }),
        ).toHaveLength(3);
      } finally {
        await destroy();
      }
    },
  );
});

// Some levels of a few indexes, and the rows themselves. A table scan would read tens of thousands.
const mostPagesPerJob = 60;
// A claim of all types visits one row of each type, some pages down the index, to find out which types there are.
const manyTypes = 6;
const farAway = Date.parse("2100-01-01");

describe("a table that has grown to 500,000 rows under plans made when it was empty", () => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: inject("postgres18Url"), max: 1 });
  let counter: PageCounter;
  let adapter: PgStateAdapter;

  const several: ClaimRequest[] = [
    { queue: "default", typeNames: ["work", "play", "rest"], limit: 5 },
    { queue: "urgent", typeNames: ["work", "play"], limit: 5 },
  ];

  /** The statements of the call that touch more pages than so few jobs can need. */
  const expensive = async (call: () => Promise<unknown>, jobs = 1): Promise<StatementPages[]> => {
    const counted = await counter.countPages(call);
    expect(counted).not.toEqual([]);
    return counted.filter(({ pages }) => pages > jobs * mostPagesPerJob);
  };

  const whole: ClaimRequest[] = [{ queue: "urgent", typeNames: null, limit: 5 }];

  /** One round of all that a worker does again and again. */
  const round = async (): Promise<void> => {
    const oneType = await takeOne(undefined);
    await adapter.renewLeases({
      leases: [{ jobId: oneType.id, leaseToken: oneType.leaseToken!, leaseMs: 30_000 }],
    });
    const manyTypes = await takeOne(several);
    await adapter.nextRunnableIn({ requests: several });
    await claim(adapter, { limit: 5, requests: whole });
    await adapter.getJobs({ jobIds: [oneType.id] });
    await adapter.commitOutcomes({ outcomes: [oneType, manyTypes].map(completionOf) });
    await discardSome();
    await changeWaiting();
    await failSome();
  };

  const claimToDiscard = async (count: number): Promise<JobOutcome[]> => {
    const queue = "discarded";
    await adapter.createJobs({ jobs: Array.from({ length: count }, () => newJob({ queue })) });
    const requests = [{ queue, typeNames: ["work"], limit: count }];
    const jobs = await claim(adapter, { limit: count, requests });
    return jobs.map((job) => ({ ...completionOf(job), keep: false }));
  };

  /** Jobs that are deleted as they complete: alone, together, and in the last statement of a transaction. */
  const discardSome = async (): Promise<void> => {
    for (const count of [1, 3]) {
      await adapter.commitOutcomes({ outcomes: await claimToDiscard(count) });
      await discardLast(await claimToDiscard(count));
    }
  };

  const discardLast = (outcomes: readonly JobOutcome[]): Promise<unknown> =>
    adapter.runInTransaction(async (ctx) => {
      const leases = outcomes.map(({ jobId, leaseToken }) => ({ jobId, leaseToken: leaseToken! }));
      await adapter.lockHeldJobs({ ctx, leases });
      const locked = outcomes.map((outcome) => ({ ...outcome, locked: true }));
      return adapter.commitOutcomes({ ctx, outcomes: locked, isLast: true });
    });

  /** Attempts that fail, alone and together, of jobs with few leases and with many; and what is asked about them. */
  const failSome = async (): Promise<void> => {
    const queue = "failing";
    const requests = [{ queue, typeNames: ["work"], limit: 3 }];
    await adapter.createJobs({ jobs: Array.from({ length: 3 }, () => newJob({ queue })) });
    const [one, two, three] = await claim(adapter, { limit: 3, requests });
    const many = { leaseVersion: 30 };
    await adapter.commitOutcomes({ outcomes: [failureOf(one!, "fail", many)] });
    await adapter.commitOutcomes({ outcomes: [failureOf(two!), failureOf(three!, "fail", many)] });
    await adapter.history.listAttempts({ jobIds: [one!.id, two!.id] });
  };

  /** Attempts of jobs that do not matter here. */
  const multiplyAttempts = (count: number): Promise<unknown> =>
    pool.query(
      `INSERT INTO ${schema}.job_attempt (job_id, lease_version, attempt, due_at, started_at, ended_at, outcome, worker_id)
        SELECT gen_random_uuid(), 1, 1, 1, 1, 1, 'retry', 'worker' FROM generate_series(1, $1)`,
      [count],
    );

  /** Starts that replace, an update and an expiry, of jobs that nobody claims. */
  const changeWaiting = async (): Promise<void> => {
    const queue = "waiting";
    const deduplication = { key: "k", scope: "pending", windowMs: null, onDuplicate: "replace" } as const;
    const start = (): NewJob => newJob({ queue, deduplication, expireAfterMs: 1_000 });
    const [first] = await adapter.createJobs({ jobs: [start()] });
    const [second] = await adapter.createJobs({ jobs: [start()] });
    expect(second).toMatchObject({ replaced: true, job: { id: first!.job.id } });
    await adapter.edits.updateWaitingJobs({ jobIds: [first!.job.id], change: { priority: 1 } });
    const now = second!.job.scheduledAt + 1_000;
    expect(await adapter.edits.expireWaitingJobs({ limit: 10, error: "too late", now })).toHaveLength(1);
  };

  const takeOne = async (requests: ClaimRequest[] | undefined): Promise<StateJob> => {
    await adapter.createJobs({ jobs: [newJob()] });
    const [job] = await claim(adapter, { limit: 5, ...(requests ? { requests } : {}) });
    return job!;
  };

  beforeAll(async () => {
    const provider = createPgPoolStateProvider({ pool });
    counter = createPageCounter(provider as never, pool);
    adapter = await createPgStateAdapter({ stateProvider: counter.provider, schema });
    // Autovacuum must not run at a random moment.
    for (const table of ["job", "job_attempt"])
      await pool.query(`ALTER TABLE ${schema}.${table} SET (autovacuum_enabled = off)`);
    // After five executions PostgreSQL uses a generic plan.
    for (let time = 0; time < 8; time += 1) await round();
    // Ready jobs of types that nobody asks for; and, of a type that is asked for, jobs of higher priority for later.
    await pool.query(`DELETE FROM ${schema}.job`);
    const foreign = Array.from({ length: 50 }, (_, n) => newJob({ typeName: `foreign-${n}`, priority: 9 }));
    const deferred = Array.from({ length: 50 }, () => newJob({ priority: 9, schedule: { at: farAway } }));
    await adapter.createJobs({ jobs: [...foreign, ...deferred] });
    await multiplyJobs(pool, schema, 5_000);
    await multiplyAttempts(100_000);
  }, 120_000);
  afterAll(async () => {
    await adapter.close();
    await pool.end();
    await dropSchema(inject("postgres18Url"), schema);
  });

  it("a claim does not read through jobs of other types and jobs for later", async () => {
    await adapter.createJobs({ jobs: [newJob()] });
    let claimed: StateJob[] = [];
    const found = await expensive(async () => {
      claimed = await claim(adapter, { limit: 5 });
    });
    expect(claimed).toHaveLength(1);
    expect(found).toEqual([]);
    // Nor when there is nothing to claim.
    expect(await expensive(() => claim(adapter, { limit: 5 }))).toEqual([]);
    expect(await expensive(() => adapter.nextRunnableIn({ requests: several }))).toEqual([]);
  });

  it("nor does one that asks for many types, or for all", async () => {
    await adapter.createJobs({ jobs: [newJob({ typeName: "rest" }), newJob({ queue: "urgent" })] });
    let claimed: StateJob[] = [];
    const found = await expensive(async () => {
      claimed = await claim(adapter, { limit: 5, requests: several });
    }, 2);
    expect(claimed).toHaveLength(2);
    expect(found).toEqual([]);

    await adapter.createJobs({ jobs: [newJob({ queue: "urgent" })] });
    expect(await expensive(() => claim(adapter, { limit: 5, requests: whole }), manyTypes)).toEqual([]);
  });

  it("claims read by index although their plans are older than the rows, and so do attempts that fail", async () => {
    await adapter.createJobs({ jobs: [newJob(), newJob()] });
    expect(await expensive(() => claim(adapter, { limit: 1 }))).toEqual([]);
    expect(await expensive(failSome, 3)).toEqual([]);
    expect(await expensive(() => claim(adapter, { limit: 5, requests: several }))).toEqual([]);
  });

  it("so do completions that delete their jobs", async () => {
    expect(await expensive(discardSome, 3)).toEqual([]);
  });

  it("once the table has been analysed, so do all other calls", async () => {
    // As autovacuum does at its next round, after a number of changed rows and not after a share of the table.
    const [row] = (await pool.query(`SELECT reloptions FROM pg_class WHERE oid = '${schema}.job'::regclass`))
      .rows;
    expect((row as { reloptions: string[] }).reloptions).toContain("autovacuum_analyze_threshold=5000");
    await pool.query(`ANALYZE ${schema}.job, ${schema}.job_attempt`);
    expect(await expensive(round, manyTypes)).toEqual([]);
  });
});

describe("a table through which many jobs have gone since it was last vacuumed", () => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: inject("postgres18Url"), max: 1 });
  afterAll(async () => {
    await pool.end();
    await dropSchema(inject("postgres18Url"), schema);
  });

  it("their dead entries in the indexes are read once, not at every claim", async () => {
    const counter = createPageCounter(createPgPoolStateProvider({ pool }) as never, pool);
    const adapter = await createPgStateAdapter({ stateProvider: counter.provider, schema });
    await pool.query(`ALTER TABLE ${schema}.job SET (autovacuum_enabled = off)`);
    for (let round = 0; round < 20; round += 1) {
      await adapter.createJobs({ jobs: Array.from({ length: 500 }, () => newJob()) });
      const claimed = await claim(adapter, { limit: 500 });
      await adapter.commitOutcomes({ outcomes: claimed.map(completionOf) });
    }
    // While another test on this server has an older transaction open, no entry can be marked as dead.
    await vi.waitFor(
      async () => {
        await adapter.createJobs({ jobs: [newJob(), newJob()] });
        await claim(adapter, { limit: 1 });
        const [counted] = await counter.countPages(() => claim(adapter, { limit: 1 }));
        // These are the leaves of the indexes. With the rows of the entries there would be hundreds more.
        expect(counted!.pages).toBeLessThan(200);
      },
      { timeout: 40_000, interval: 500 },
    );
  }, 60_000);
});
