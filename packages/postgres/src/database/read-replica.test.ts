import { type PostgresServer, startPostgres } from "@leasehold/test-servers";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { until } from "../testing/until.ts";

let primary: PostgresServer;

let replica: PostgresServer;

beforeAll(async () => {
  primary = await startPostgres();
  replica = await startPostgres({ standbyOf: primary });
}, 60_000);

afterAll(async () => {
  await Promise.all([primary.stop(), replica.stop()]);
});

const jobTypes = defineUnionJobTypes<{ greet: { input: { name: string }; output: string } }>();

const open = async (readOptions: pg.PoolConfig = {}) => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: primary.url });
  const readPool = new pg.Pool({ connectionString: replica.url, ...readOptions });
  const readProvider = createPgPoolStateProvider({ pool: readPool });
  let reads = 0;
  const counting: typeof readProvider = {
    ...readProvider,
    executeSql: (ctx, statement) => {
      reads += 1;
      return readProvider.executeSql(ctx, statement);
    },
  };
  const adapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool }),
    readProvider: counting,
    schema,
  });
  const leasehold = await createLeasehold({ stateAdapter: adapter, jobTypes });
  const onReplica = (sql: string) => readPool.query(sql);
  const caughtUp = (): Promise<void> =>
    until(async () => (await adapter.measureReadLag())?.bytes === 0, "the replica has replayed everything");
  const pauseReplica = async (): Promise<void> => {
    await caughtUp();
    await onReplica("SELECT pg_wal_replay_pause()");
    await until(async () => {
      const { rows } = await onReplica("SELECT pg_get_wal_replay_pause_state() AS state");
      return rows[0]?.state === "paused";
    }, "the replica replays nothing");
  };
  const resumeReplica = async (): Promise<void> => {
    await onReplica("SELECT pg_wal_replay_resume()");
    await caughtUp();
  };
  const close = async (): Promise<void> => {
    await leasehold.close();
    await adapter.close();
    await Promise.all([pool.end(), readPool.end()]);
    await dropSchema(primary.url, schema);
  };
  const readsOnReplica = (): number => reads;
  return { leasehold, adapter, pauseReplica, resumeReplica, caughtUp, onReplica, readsOnReplica, close };
};

describe("a replica for reads", () => {
  let store: Awaited<ReturnType<typeof open>>;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(async () => {
    await store.onReplica("SELECT pg_wal_replay_resume()").catch(() => {});
    await store.close();
  });

  const start = (name: string) => store.leasehold.startJobSequence({ typeName: "greet", input: { name } });
  const listed = async (): Promise<number> => (await store.leasehold.jobs.list({})).jobs.length;

  it("answers lists, counts and statistics, as of some moments ago", async () => {
    const { leasehold, adapter, pauseReplica, resumeReplica } = store;
    await start("Ada");
    await pauseReplica();
    const { id } = await start("Grace");

    expect(await listed()).toBe(1);
    expect((await leasehold.jobs.listSequences({})).sequences.length).toBe(1);
    expect((await leasehold.jobs.count({}))[0]?.count).toBe(1);
    expect((await adapter.statistics.measureBacklog({ cap: 10 }))[0]?.runnable).toBe(1);
    expect(await leasehold.history.listProcesses()).toEqual([]);
    const lag = await adapter.measureReadLag();
    expect(lag?.bytes).toBeGreaterThan(0);
    expect(lag?.ms).toBeGreaterThan(0);
    const findings = await adapter.diagnostics.runChecks({ depth: "light", transactionAgeMs: 60_000 });
    expect(findings.find(({ check }) => check === "read replica")?.summary).toMatch(
      /^It is .* behind: .* left to replay\.$/,
    );

    // What is asked by id, or in a transaction, is never old.
    expect(await leasehold.jobs.getSequence({ id, typeName: "greet" })).toBeDefined();
    const inside = await leasehold.runInTransaction((ctx) => leasehold.jobs.list({ ...ctx }));
    expect(inside.jobs.length).toBe(2);

    await resumeReplica();
    expect(await listed()).toBe(2);
    expect(await adapter.measureReadLag()).toEqual({ bytes: 0, ms: 0 });
  });

  it("is asked by neither claims nor commits", async () => {
    const { leasehold, pauseReplica } = store;
    await pauseReplica();
    const worker = leasehold
      .createWorker()
      .implementJobType({ typeName: "greet", process: async ({ job }) => `Hello, ${job.input.name}!` });
    const running = await worker.start({ pollIntervalMs: 100 });
    const sequence = await start("Ada");
    expect((await leasehold.waitForJobSequenceCompletion(sequence)).output).toBe("Hello, Ada!");
    expect(await listed()).toBe(0);
    await running.stop();
  });

  it("does not end a wait with a failure from before a redrive", async () => {
    const { leasehold, pauseReplica, readsOnReplica } = store;
    const worker = leasehold.createWorker().implementJobType({
      typeName: "greet",
      process: async () => {
        throw new Error("broken");
      },
    });
    const sequence = await leasehold.startJobSequence({
      typeName: "greet",
      input: { name: "Ada" },
      maxAttempts: 1,
    });
    const first = await worker.start({ pollIntervalMs: 100 });
    await expect(leasehold.waitForJobSequenceCompletion(sequence)).rejects.toThrow("failed");
    await first.stop();
    await pauseReplica();

    await leasehold.jobs.redrive({ ids: [sequence.id] });
    // Several polls see the failure on the replica before a worker comes.
    const waiting = leasehold.waitForJobSequenceCompletion({ ...sequence, pollIntervalMs: 20 });
    const before = readsOnReplica();
    await until(() => readsOnReplica() > before + 3, "the wait has looked at the replica");
    const second = await leasehold
      .createWorker()
      .implementJobType({ typeName: "greet", process: async () => "mended" })
      .start({ pollIntervalMs: 100 });
    expect((await waiting).output).toBe("mended");
    await second.stop();
  });

  it("is replaced by the primary while it is away", async () => {
    const { caughtUp } = store;
    await start("Ada");
    await caughtUp();
    await replica.shutDown("fast");
    await start("Grace");
    expect(await listed()).toBe(2);
    await replica.startAgain();
  });

  it("is replaced by the primary while it does not have the tables yet", async () => {
    await store.pauseReplica();
    const later = await open();
    await later.leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } });
    expect((await later.leasehold.jobs.list({})).jobs.length).toBe(1);
    await later.onReplica("SELECT pg_wal_replay_resume()");
    await later.close();
  });
});

it("keeps reads that take longer than the replica allows away from the primary", async () => {
  const { adapter, caughtUp, close } = await open({ statement_timeout: 200 });
  await caughtUp();
  const locker = new pg.Client({ connectionString: primary.url });
  await locker.connect();
  const { rows } = await locker.query<{ name: string }>(
    "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE tablename = 'job'",
  );
  // The replica takes over such locks, too, once they have been written to the log.
  await locker.query("BEGIN");
  for (const { name } of rows) await locker.query(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`);
  await locker.query("SELECT pg_switch_wal()");
  await caughtUp();
  const list = { filter: {}, order: "newest", limit: 10, after: null } as const;
  await expect(adapter.listJobs({ ...list, mayLag: true })).rejects.toThrow("statement timeout");
  await locker.end();
  await close();
});
