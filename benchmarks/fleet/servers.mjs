// The servers of the fleet, and what they can be asked about.
import pg from "pg";
import {
  startNats,
  startPgBouncer,
  startPostgres,
  startRedis,
} from "../../packages/test-servers/dist/index.js";
import { readServerCpu } from "../process-cpu.mjs";
import { postgresSettings } from "../settings.mjs";
import { listenerName } from "./open.mjs";

const settingsFor = (statements) => ({
  ...postgresSettings,
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track_planning": statements ? "on" : "off",
});

// Of the fleet alone, not of who measures it.
const statementsSql = `
SELECT query, sum(calls)::int AS calls, sum(total_exec_time) AS ms,
  sum(total_plan_time) AS plan_ms
FROM pg_stat_statements
WHERE query NOT LIKE '%pg_stat_%' GROUP BY query`;

const connectionsSql = `
SELECT count(*) FILTER (WHERE application_name = $1)::int AS listening,
  count(*) FILTER (WHERE application_name <> $1)::int AS pooled
FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;

const open = async (connectionString) => {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
};

/**
 * @param {object} options
 * @param {readonly string[]} options.notify which notify adapters they are for
 * @param {boolean} options.statements whether to measure how long each statement is planned
 */
export const startFleetServers = async ({ notify, statements }) => {
  const [postgres, redis, nats] = await Promise.all([
    startPostgres({ durable: true, settings: settingsFor(statements) }),
    notify.includes("redis") ? startRedis() : undefined,
    notify.includes("nats") ? startNats() : undefined,
  ]);
  const bouncer = await startPgBouncer(postgres);
  const observer = await open(postgres.url);
  await observer.query("CREATE EXTENSION pg_stat_statements");
  const consoleUrl = new URL(bouncer.url);
  consoleUrl.pathname = "/pgbouncer";
  const bouncerConsole = await open(consoleUrl.href);

  const readWaits = async () => {
    const { rows } = await bouncerConsole.query("SHOW STATS");
    return rows
      .filter(({ database }) => database !== "pgbouncer")
      .reduce((sum, row) => sum + Number(row.total_wait_time) / 1_000, 0);
  };

  return {
    urls: {
      postgresUrl: postgres.url,
      bouncerUrl: bouncer.url,
      redisUrl: redis?.url,
      natsUrl: nats?.url,
    },
    /** Statements by their text, CPU seconds and what clients waited for a connection, all since the beginning. */
    read: async () => ({
      at: performance.now(),
      statements: new Map((await observer.query(statementsSql)).rows.map((row) => [row.query, row])),
      serverCpu: await readServerCpu(postgres.pid),
      poolerCpu: await readServerCpu(bouncer.pid),
      waitedMs: await readWaits(),
    }),
    countConnections: async () => (await observer.query(connectionsSql, [listenerName])).rows[0],
    query: (sql) => observer.query(sql),
    stop: async () => {
      await Promise.all([observer.end(), bouncerConsole.end()]);
      await bouncer.stop();
      await Promise.all([postgres.stop(), redis?.stop(), nats?.stop()]);
    },
  };
};
