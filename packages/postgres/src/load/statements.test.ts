import { createLeasehold, defineUnionJobTypes, type Leasehold } from "leasehold";
import type { HeldLease, JobOutcome, StateJob } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPgNotifyAdapter } from "../notify/notify-adapter.ts";
import { createPgPoolNotifyProvider } from "../providers/pg-notify.ts";
import { createPgPoolStateProvider, type PgContext } from "../providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { newSchemaName } from "../testing/fixtures.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";
import { until } from "../testing/until.ts";

interface JobTypes {
  work: { input: { n: number }; output: null };
  write: { input: { n: number }; output: null };
  batch: { input: { n: number }; output: null };
}

type Context = PgContext<pg.PoolClient>;

/** The statements of each connection, in order. Each is a round trip of its own. */
const sent: string[][] = [];

/** Those of all connections. */
let log: string[] = [];

const textOf = (query: unknown): string =>
  typeof query === "string" ? query : (query as { readonly text: string }).text;

class CountedClient extends pg.Client {
  readonly #statements: string[] = [];

  constructor(config?: pg.ClientConfig) {
    super(config);
    sent.push(this.#statements);
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => {
      this.#statements.push(textOf(args[0]));
      log.push(textOf(args[0]));
      return query(...args);
    }) as typeof this.query;
  }
}

const countAll = (): number => sent.reduce((sum, statements) => sum + statements.length, 0);

/** The statements that an operation takes once everything it prepares is there. */
const statementsOf = async (operation: () => Promise<unknown>): Promise<number> => {
  await operation();
  const before = countAll();
  await operation();
  return countAll() - before;
};

let pool: pg.Pool;
let adapter: PgStateAdapter<Context, Context>;
let leasehold: Leasehold<JobTypes, PgStateAdapter<Context, Context>>;
beforeAll(async () => {
  pool = new pg.Pool({ connectionString: inject("postgres15Url"), max: 5, Client: CountedClient });
  adapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool }),
    schema: newSchemaName(),
  });
  leasehold = await createLeasehold({
    stateAdapter: adapter,
    jobTypes: defineUnionJobTypes<JobTypes>(),
    statistics: false,
  });
});
afterAll(async () => {
  await leasehold.close();
  await adapter.close();
  await pool.end();
});

const newJobs = (count: number) => Array.from({ length: count }, () => newJob());
const input = { n: 1 };
const leaseOn = ({ id, leaseToken }: StateJob): HeldLease => ({ jobId: id, leaseToken: leaseToken! });

describe("statements and round trips", () => {
  it("of a start: one, for one job and for a thousand", async () => {
    expect(await statementsOf(() => leasehold.startJobSequence({ typeName: "work", input }))).toBe(1);
    const sequences = Array.from({ length: 1_000 }, () => ({ typeName: "work" as const, input }));
    expect(await statementsOf(() => leasehold.startJobSequences({ sequences }))).toBe(1);
  });

  it("of a start in a transaction: one, and two for the transaction", async () => {
    const start = () =>
      leasehold.runInTransaction(({ client }) =>
        leasehold.startJobSequence({ client, typeName: "work", input }),
      );
    expect(await statementsOf(start)).toBe(3);
  });

  it("of a claim, of a renewal and of written outcomes: one, for one job and for fifty", async () => {
    for (const limit of [1, 50]) {
      await adapter.createJobs({ jobs: newJobs(3 * limit) });
      expect(await statementsOf(() => claim(adapter, { limit }))).toBe(1);
      const renew = async () => {
        const jobs = await claim(adapter, { limit });
        const before = countAll();
        const leases = jobs.map(({ id, leaseToken }) => ({
          jobId: id,
          leaseToken: leaseToken!,
          leaseMs: 30_000,
        }));
        await adapter.renewLeases({ leases });
        const renewed = countAll();
        await adapter.commitOutcomes({ outcomes: jobs.map(completionOf) });
        return [jobs.length, renewed - before, countAll() - renewed];
      };
      expect(await renew()).toEqual([limit, 1, 1]);
    }
  });

  it("of outcomes that delete their jobs: one, and one more if some are kept", async () => {
    await adapter.createJobs({ jobs: newJobs(4) });
    const [one, two, three, four] = await claim(adapter, { limit: 4 });
    const discard = (job: StateJob): JobOutcome => ({ ...completionOf(job), keep: false });
    const commit = async (outcomes: readonly JobOutcome[]): Promise<number> => {
      const before = countAll();
      await adapter.commitOutcomes({ outcomes });
      return countAll() - before;
    };
    expect(await commit([discard(one!), discard(two!)])).toBe(1);
    expect(await commit([discard(three!), completionOf(four!)])).toBe(2);
  });

  it("of the lock of fifty jobs: one, with one row for all unless some are lost", async () => {
    const provider = createPgPoolStateProvider({ pool });
    let answers: number[] = [];
    const store = await createPgStateAdapter({
      stateProvider: {
        ...provider,
        executeSql: async (ctx, statement) => {
          const rows = await provider.executeSql(ctx, statement);
          answers.push(rows.length);
          return rows;
        },
      },
      schema: newSchemaName(),
    });
    await store.createJobs({ jobs: newJobs(50) });
    const jobs = await claim(store, { limit: 50 });
    const lock = async (leases: readonly HeldLease[]) => {
      const results = await store.runInTransaction((ctx) => {
        answers = [];
        return store.lockHeldJobs({ ctx, leases });
      });
      return [answers, results.filter(({ kind }) => kind === "locked").length];
    };
    expect(await lock(jobs.map(leaseOn))).toEqual([[1], 50]);
    await store.commitOutcomes({ outcomes: [completionOf(jobs[0]!)] });
    expect(await lock(jobs.map(leaseOn))).toEqual([[50], 49]);
    await store.close();
  });

  it("of the question when the next job is due: one", async () => {
    const requests = [{ queue: "default", typeNames: ["work"], limit: 1 }];
    expect(await statementsOf(() => adapter.nextRunnableIn({ requests }))).toBe(1);
  });

  it("of a handler that writes and completes in one transaction: three round trips", async () => {
    const worker = await leasehold
      .createWorker()
      .implementJobType({
        typeName: "write",
        process: ({ complete }) =>
          complete(async ({ client }) => {
            await client.query("SELECT 'the row of the user'");
            return null;
          }),
      })
      .start();
    const sequence = await leasehold.startJobSequence({ typeName: "write", input });
    await leasehold.waitForJobSequenceCompletion(sequence);
    await worker.stop();
    const statements = sent.find((texts) => texts.some((text) => text.includes("the row of the user")))!;
    const at = statements.findIndex((text) => text.includes("the row of the user"));
    // `BEGIN` and `COMMIT` go out with their neighbours.
    expect(statements.slice(at - 1, at + 2)).toEqual([
      expect.stringContaining("FOR NO KEY UPDATE"),
      "SELECT 'the row of the user'",
      expect.stringContaining("status = 'completed'"),
    ]);
    expect([statements[at - 2], statements[at + 2]]).not.toContainEqual(
      expect.stringMatching(/^(BEGIN|COMMIT)/),
    );
  });
});

describe("the round trips of a batch", () => {
  it("that writes and completes in one transaction are three, for any number of jobs", async () => {
    const sizes: number[] = [];
    const worker = await leasehold
      .createWorker()
      .implementJobTypeBatch({
        typeName: "batch",
        maxSize: 40,
        process: ({ complete }) =>
          complete(async ({ client, jobs }) => {
            sizes.push(jobs.length);
            await client.query("SELECT 'the rows of a batch'");
            return jobs.map(() => null);
          }),
      })
      .start();
    const sequences = Array.from({ length: 40 }, () => ({ typeName: "batch" as const, input }));
    const started = await leasehold.startJobSequences({ sequences });
    for (const sequence of started) await leasehold.waitForJobSequenceCompletion(sequence);
    await worker.stop();
    expect(sizes).toEqual([40]);
    const statements = sent.find((texts) => texts.some((text) => text.includes("the rows of a batch")))!;
    const at = statements.findIndex((text) => text.includes("the rows of a batch"));
    expect(statements.slice(at - 1, at + 2)).toEqual([
      expect.stringContaining("FOR NO KEY UPDATE"),
      "SELECT 'the rows of a batch'",
      expect.stringContaining("status = 'completed'"),
    ]);
    expect([statements[at - 2], statements[at + 2]]).not.toContainEqual(
      expect.stringMatching(/^(BEGIN|COMMIT)/),
    );
  });
});

describe("the statements between a start and the handler", () => {
  interface Instance {
    readonly leasehold: Leasehold<JobTypes, PgStateAdapter<Context, Context>>;
    close(): Promise<void>;
  }

  /** An instance as in a process of its own. */
  const open = async (schema: string): Promise<Instance> => {
    const own = new pg.Pool({ connectionString: inject("postgres15Url"), max: 5, Client: CountedClient });
    const stateAdapter = await createPgStateAdapter({
      stateProvider: createPgPoolStateProvider({ pool: own }),
      schema,
    });
    const notifyAdapter = await createPgNotifyAdapter({
      notifyProvider: createPgPoolNotifyProvider({ pool: own }),
      channelPrefix: schema,
    });
    const opened = await createLeasehold({
      stateAdapter,
      notifyAdapter,
      jobTypes: defineUnionJobTypes<JobTypes>(),
      statistics: false,
    });
    const close = async (): Promise<void> => {
      await opened.close();
      await notifyAdapter.close();
      await stateAdapter.close();
      await own.end();
    };
    return { leasehold: opened, close };
  };

  const kindOf = (statement: string): string => {
    if (statement.includes("INSERT INTO") && statement.includes(".job ")) return "insert";
    if (statement.includes("lease_version = j.lease_version + 1")) return "claim";
    return statement.includes("pg_notify") ? "notify" : statement;
  };

  it.each([
    ["in the process of the worker", false],
    ["in another process", true],
  ])("are the claim only, for a start %s", async (_where, isElsewhere) => {
    const schema = newSchemaName();
    const working = await open(schema);
    const starting = isElsewhere ? await open(schema) : working;
    let handled = (): void => {};
    const worker = await working.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async () => {
          handled();
          return null;
        },
      })
      .start({ pollIntervalMs: 5_000 });
    /** Not counting the notification, which does not stand in the way of the claim. */
    const untilHandled = async (): Promise<string[]> => {
      let statements: string[] = [];
      const running = new Promise<void>((resolve) => {
        handled = () => {
          statements = log.map(kindOf).filter((kind) => kind !== "notify");
          resolve();
        };
      });
      log = [];
      const sequence = await starting.leasehold.startJobSequence({ typeName: "work", input });
      await running;
      await working.leasehold.waitForJobSequenceCompletion(sequence);
      return statements;
    };
    // The background has statements of its own, and a process takes some time to find out that it has no rivals.
    let last: string[] = [];
    await until(async () => {
      last = await untilHandled();
      return last.length === 2;
    }, "a job is handled after one claim");
    expect(last).toEqual(["insert", "claim"]);
    await worker.stop();
    if (starting !== working) await starting.close();
    await working.close();
  });
});

describe("plans", () => {
  it("are made once for each statement that a worker repeats", async () => {
    // One connection, because each has its own prepared statements.
    const single = new pg.Pool({ connectionString: inject("postgres15Url"), max: 1 });
    const schema = newSchemaName();
    const store = await createPgStateAdapter({
      stateProvider: createPgPoolStateProvider({ pool: single }),
      schema,
    });
    const requestOf = (...typeNames: string[]) => [{ queue: "default", typeNames, limit: 2 }];
    const types = ["work", "write", "rest"];
    for (let round = 0; round < 12; round += 1) {
      await store.createJobs({ jobs: newJobs(20) });
      await store.createJobs({ jobs: [newJob()] });
      await store.createJobs({ jobs: [newJob({ schedule: { afterMs: 60_000 } })] });
      for (const typeNames of [["work"], types]) {
        const jobs = await claim(store, { limit: 2, requests: requestOf(...typeNames) });
        await store.nextRunnableIn({ requests: requestOf(...typeNames) });
        const leases = jobs.map(({ id, leaseToken }) => ({
          jobId: id,
          leaseToken: leaseToken!,
          leaseMs: 30_000,
        }));
        await store.renewLeases({ leases });
        await store.commitOutcomes({ outcomes: jobs.map(completionOf) });
        await store.getSequences({ sequenceIds: [jobs[0]!.id] });
      }
      const several = await claim(store, { limit: 1 + (round % 4) });
      await store.runInTransaction(async (ctx) => {
        await store.lockHeldJobs({ ctx, leases: several.map(leaseOn) });
        await store.commitOutcomes({
          ctx,
          outcomes: several.map((job) => ({ ...completionOf(job), locked: true })),
        });
      });
      const [job] = await claim(store, { limit: 1 });
      await store.runInTransaction(async (ctx) => {
        await store.lockHeldJobs({ ctx, leases: [leaseOn(job!)] });
        await store.commitOutcomes({ ctx, outcomes: [{ ...completionOf(job!), locked: true }] });
      });
    }
    // The first five plans of a statement are always made anew.
    const { rows } = await single.query<{ statement: string }>(
      "SELECT statement FROM pg_prepared_statements WHERE custom_plans > 5",
    );
    await store.close();
    await single.end();
    expect(rows.map(({ statement }) => statement)).toEqual([]);
  });
});
