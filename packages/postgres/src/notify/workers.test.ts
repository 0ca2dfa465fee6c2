import { type PostgresServer, startPostgres } from "@leasehold/test-servers";
import { brokerConformance } from "leasehold/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPgPoolNotifyProvider } from "../providers/pg-notify.ts";
import { newSchemaName } from "../testing/fixtures.ts";
import { until } from "../testing/until.ts";
import { createPgNotifyAdapter } from "./notify-adapter.ts";

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgres();
}, 60_000);

afterAll(() => server.stop());

/** Adapters as in processes of their own: each has a listening connection, and whatever it sends goes out through that. */
const openAdapters = (pool: pg.Pool, channelPrefix: string, count: number, clients: pg.Client[] = []) =>
  Promise.all(
    Array.from({ length: count }, () => {
      const createClient = (): pg.Client => {
        const client = new pg.Client({ connectionString: server.url });
        clients.push(client);
        return client;
      };
      return createPgNotifyAdapter({
        notifyProvider: createPgPoolNotifyProvider({ pool, createClient }),
        channelPrefix,
      });
    }),
  );

const openPool = (): pg.Pool => {
  const pool = new pg.Pool({ connectionString: server.url, max: 5 });
  pool.on("error", () => {});
  return pool;
};

brokerConformance(
  { describe, it, afterAll },
  {
    kill: () => server.shutDown("immediate"),
    startAgain: () => server.startAgain(),
    connect: async (count) => {
      const channelPrefix = newSchemaName();
      const pool = openPool();
      const clients: pg.Client[] = [];
      return {
        createAdapters: () => openAdapters(pool, channelPrefix, count, clients),
        publish: ({ long }, message) => {
          // PostgreSQL itself refuses anything else.
          if (typeof message !== "string" || message.length > 7_900) return;
          return pool.query("SELECT pg_notify($1, $2)", [`${channelPrefix}_${long}`, message]);
        },
        lost: () => new Promise((resolve) => void clients[0]!.once("end", resolve)),
        close: () => pool.end(),
      };
    },
  },
);

describe("the locks that count notifications", () => {
  it("share the listening connection with what is sent, one statement at a time", async () => {
    const pool = openPool();
    let underWay = 0;
    let most = 0;
    const createClient = (): pg.Client => {
      const client = new pg.Client({ connectionString: server.url });
      const query = client.query.bind(client) as (statement: unknown) => Promise<unknown>;
      const counted = (statement: unknown): Promise<unknown> => {
        most = Math.max(most, (underWay += 1));
        return query(statement).finally(() => (underWay -= 1));
      };
      return Object.assign(client, { query: counted });
    };
    const adapter = await createPgNotifyAdapter({
      notifyProvider: createPgPoolNotifyProvider({ pool, createClient }),
      channelPrefix: newSchemaName(),
    });
    let heard = 0;
    await adapter.listenJobScheduled(["work"], () => (heard += 1));
    for (let times = 0; times < 50; times += 1) await adapter.notifyJobScheduled("work", 1);
    await until(() => heard === 50, "all notifications have arrived");
    expect(most).toBe(1);
    await adapter.close();
    await pool.end();
  });

  it("are few at any time, and gone after two heartbeats", async () => {
    const pool = openPool();
    const channelPrefix = newSchemaName();
    const adapter = await createPgNotifyAdapter({
      notifyProvider: createPgPoolNotifyProvider({ pool }),
      channelPrefix,
      heartbeatMs: 200,
    });
    const locks = async (): Promise<number> =>
      (
        await pool.query<{ n: number }>(
          "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'",
        )
      ).rows[0]!.n;
    let heard = 0;
    let most = 0;
    await adapter.listenJobScheduled(["work"], () => (heard += 1));
    for (let times = 1; times <= 50; times += 1) {
      await adapter.notifyJobScheduled("work", 1);
      await until(() => heard === times, "the notification has arrived");
      most = Math.max(most, await locks());
    }
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(16);
    await until(async () => (await locks()) === 0, "they were released");
    await adapter.close();
    await pool.end();
  });

  it("are not taken by a process that is the only one, until there is another", async () => {
    const pool = openPool();
    const channelPrefix = newSchemaName();
    let taken = 0;
    const createClient = (): pg.Client => {
      const client = new pg.Client({ connectionString: server.url });
      const query = client.query.bind(client) as (statement: unknown) => Promise<unknown>;
      const counted = (statement: unknown): Promise<unknown> => {
        if ((statement as pg.QueryConfig).name === "leasehold_lock") taken += 1;
        return query(statement);
      };
      return Object.assign(client, { query: counted });
    };
    const notifyProvider = createPgPoolNotifyProvider({ pool, createClient });
    const first = await createPgNotifyAdapter({ notifyProvider, channelPrefix });
    let heard = 0;
    await first.listenJobScheduled(["work"], () => (heard += 1));
    /** How many locks the first took for a notification. */
    const notify = async (): Promise<number> => {
      taken = 0;
      heard = 0;
      await first.notifyJobScheduled("work", 1);
      await until(() => heard === 1 || taken === 1, "the first has heard of it");
      return taken;
    };
    expect(await notify()).toBe(1);
    await until(async () => (await notify()) === 0, "the first knows that it is alone");
    expect(heard).toBe(1);

    const [second] = await openAdapters(pool, channelPrefix, 1);
    await second!.listenJobScheduled(["work"], () => {});
    await until(async () => (await notify()) === 1, "the first knows that it is not");
    await second!.close();
    await until(async () => (await notify()) === 0, "the first is alone again");
    await first.close();
    await pool.end();
  });
});
