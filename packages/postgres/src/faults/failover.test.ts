import { type PostgresServer, startPostgres } from "@leasehold/test-servers";
import { createLeasehold, defineUnionJobTypes, type Log } from "leasehold";
import pg from "pg";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createPrimaryPool } from "../../examples/several-hosts.ts";
import { createPgNotifyAdapter } from "../notify/notify-adapter.ts";
import { createPgPoolNotifyProvider } from "../providers/pg-notify.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPostgresJsStateProvider } from "../providers/postgres-js.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { until } from "../testing/until.ts";
import { isFromReadOnlyServer, isTransientPgError } from "../database/errors.ts";

// `npm run test:cluster` does more of this, with a cluster of three nodes that elects its leaders itself.
const addressOf = ({ port }: PostgresServer) => ({ host: "127.0.0.1", port });

let primary: PostgresServer;
let standby: PostgresServer;
beforeAll(async () => {
  primary = await startPostgres();
  standby = await startPostgres({ standbyOf: primary });
}, 60_000);
afterAll(async () => {
  await Promise.all([primary.stop(), standby.stop()]);
});

const ask = async <T>(server: PostgresServer, sql: string): Promise<T[]> => {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as T[];
  } finally {
    await client.end();
  }
};

const unlessTransient = async (work: Promise<boolean>): Promise<boolean> => {
  try {
    return await work;
  } catch (error) {
    expect(error).toSatisfy(isTransientPgError);
    return false;
  }
};

describe("a connection to a standby", () => {
  let target: PostgresServer;
  let pool: pg.Pool;
  beforeEach(() => {
    class Client extends pg.Client {
      constructor(options: pg.ClientConfig = {}) {
        super({ ...options, ...addressOf(target) });
      }
    }
    pool = new pg.Pool({ user: "leasehold", database: "postgres", max: 1, Client });
  });
  afterEach(() => pool.end());

  it("is closed, not kept in the pool until the standby becomes the primary", async () => {
    const { provideContext, runInTransaction, executeSql } = createPgPoolStateProvider({ pool });
    const write = { sql: "CREATE TABLE written (x int)", params: [] };
    const ways = [
      () => executeSql(undefined, write),
      () => provideContext((ctx) => executeSql(ctx, write)),
      () => runInTransaction((ctx) => executeSql(ctx, write)),
      () => runInTransaction((ctx) => executeSql(ctx, write), { isolationLevel: "serializable" }),
    ];
    for (const way of ways) {
      target = standby;
      await expect(way()).rejects.toSatisfy(isFromReadOnlyServer);
      target = primary;
      await way();
      await executeSql(undefined, { sql: "DROP TABLE written", params: [] });
      await pool.connect().then((client) => client.release(true));
    }
  });

  it("is closed in a pool of postgres.js, too, which lets it in after a query was cut off", async () => {
    const hosts = [primary, standby, standby].map(({ port }) => `127.0.0.1:${port}`);
    const sql = postgres(`postgres://leasehold@${hosts.join(",")}/postgres`, {
      max: 2,
      fetch_types: false,
      backoff: () => 0,
      target_session_attrs: "primary",
    });
    const { runInTransaction, executeSql } = createPostgresJsStateProvider({ sql });
    const write = { sql: "CREATE TABLE written (x int)", params: [] };
    const ways = [
      () => executeSql(undefined, write),
      () => runInTransaction((ctx) => executeSql(ctx, write)),
      () => runInTransaction((ctx) => executeSql(ctx, write), { isolationLevel: "serializable" }),
    ];
    for (const way of ways) {
      // A connection to a standby may end just when a query is sent on it.
      const bothAnswer = () => unlessTransient(Promise.all([sql`SELECT 1`, sql`SELECT 1`]).then(() => true));
      await until(bothAnswer, "two connections are open");
      // As when the primary is shut down: it ends connections that are in use.
      const cutOff = () => sql`SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(60)`;
      const onStandby = () => sql<{ standby: boolean }[]>`SELECT pg_is_in_recovery() AS standby`;
      const isOnStandby = async () => {
        // Each time, because both connections may come back to the primary.
        await Promise.allSettled([cutOff(), cutOff()]);
        return unlessTransient(onStandby().then(([row]) => row!.standby));
      };
      await until(isOnStandby, "a connection leads to a standby");
      await until(() => unlessTransient(way().then(() => true)), "the primary is written to");
      await ask(primary, "DROP TABLE written");
    }
    await sql.end({ timeout: 0 });
  });

  it("fails no job: the attempt does not count", async () => {
    target = primary;
    const stateProvider = createPgPoolStateProvider({ pool });
    const stateAdapter = await createPgStateAdapter({ stateProvider });
    const jobTypes = defineUnionJobTypes<{ work: { input: null; output: number } }>();
    const seen = new Set<string>();
    const log: Log = ({ event }) => void seen.add(event);
    const leasehold = await createLeasehold({ stateAdapter, jobTypes, log });
    const started = await leasehold.startJobSequence({ typeName: "work", input: null, maxAttempts: 1 });
    let runs = 0;
    await leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async ({ job, complete }) => {
          runs += 1;
          if (runs === 1) {
            target = standby;
            await pool.connect().then((client) => client.release(true));
          }
          return complete(async () => job.attempt, { isolationLevel: "serializable" });
        },
      })
      .start({ pollIntervalMs: 50, leaseMs: 60_000 });
    await until(() => seen.has("jobAttemptReleased"), "repeating the transaction has not helped");
    target = primary;
    const { output } = await leasehold.waitForJobSequenceCompletion(started);
    expect(output).toBe(1);
    expect(runs).toBeGreaterThan(1);
    await leasehold.close();
    await stateAdapter.close();
  });
});

describe("a worker with several hosts", () => {
  const schema = "with_several_hosts";

  it("continues on the new primary, and hears its notifications", { timeout: 60_000 }, async () => {
    // What the primary confirms, the standby has.
    await ask(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await ask(primary, "SELECT pg_reload_conf()");

    const pool = createPrimaryPool([addressOf(standby), addressOf(primary)], {
      user: "leasehold",
      database: "postgres",
    });
    const stateAdapter = await createPgStateAdapter({
      stateProvider: createPgPoolStateProvider({ pool }),
      schema,
    });
    await ask(primary, `CREATE TABLE ${schema}.ledger (job_id text NOT NULL)`);
    const notifyAdapter = await createPgNotifyAdapter({
      notifyProvider: createPgPoolNotifyProvider({ pool }),
    });
    const jobTypes = defineUnionJobTypes<{ work: { input: { n: number }; output: number } }>();
    const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });
    let done = 0;
    const worker = await leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async ({ job, complete }) => {
          const result = await complete(async ({ client }) => {
            await client.query(`INSERT INTO ${schema}.ledger VALUES ($1)`, [job.id]);
            return job.input.n;
          });
          done += 1;
          return result;
        },
      })
      // A poll would come too late for the last part.
      .start({ pollIntervalMs: 120_000, leaseMs: 3_000, reapIntervalMs: 500, concurrency: 4 });

    const start = (count: number) =>
      leasehold.startJobSequences({
        sequences: Array.from({ length: count }, (_, n) => ({ typeName: "work" as const, input: { n } })),
      });
    await start(300);
    await until(() => done > 50, "some jobs are done");
    await primary.shutDown("immediate");
    await until(() => !worker.health().healthy, "the worker says that it is not well");
    await ask(standby, "SELECT pg_promote()");
    const completed = async () => {
      const [row] = await ask<{ count: number }>(
        standby,
        `SELECT count(*)::int AS count FROM ${schema}.job WHERE status = 'completed'`,
      );
      return row!.count;
    };
    await until(async () => (await completed()) === 300, "all jobs have completed");
    await until(() => worker.health().healthy, "the worker is well again");

    await start(1);
    await until(async () => (await completed()) === 301, "the worker has heard of the new job");
    const doubled = await ask(
      standby,
      `SELECT job_id FROM ${schema}.ledger GROUP BY job_id HAVING count(*) > 1`,
    );
    expect(doubled).toEqual([]);
    expect(await ask(standby, `SELECT FROM ${schema}.ledger`)).toHaveLength(301);

    expect(await worker.stop()).toMatchObject({ clean: true });
    await leasehold.close();
    await notifyAdapter.close();
    await stateAdapter.close();
    await pool.end();
  });
});
