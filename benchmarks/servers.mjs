// A private PostgreSQL and Redis on loopback ports, both durable.
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import pg from "pg";
import { startPostgres, startRedis } from "../packages/test-servers/dist/index.js";
import { startDelay } from "./delay.mjs";
import { postgresSettings, redisSettings } from "./settings.mjs";

/** A server that accepts connections may still refuse sessions for a moment. */
const connect = async (connectionString) => {
  for (let tries = 1; ; tries += 1) {
    const client = new pg.Client({ connectionString });
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (tries === 50) throw error;
      await sleep(100);
    }
  }
};

const countingSettings = { shared_preload_libraries: "pg_stat_statements" };

/**
 * Starts both servers; `newDatabase` gives an empty database of PostgreSQL and empties Redis.
 * @param {{ counts?: boolean, delayMs?: number }} options with `counts`, statements and bytes of the write-ahead log can be
 * read; with `delayMs`, each round trip to PostgreSQL takes so much longer
 */
export const startServers = async ({ counts = false, delayMs } = {}) => {
  const settings = counts ? { ...postgresSettings, ...countingSettings } : postgresSettings;
  const postgres = await startPostgres({ durable: true, settings });
  const redis = await startRedis({ settings: redisSettings });
  const admin = await connect(postgres.url);
  const network = delayMs === undefined ? undefined : await startDelay(postgres.url, delayMs);
  const redisAdmin = new Redis({ host: "127.0.0.1", port: redis.port });
  let databases = 0;
  if (counts) await admin.query("create extension pg_stat_statements");

  const urlOf = (database) => {
    const url = new URL(postgres.url);
    url.pathname = `/${database}`;
    return network ? network.delayed(url) : url.href;
  };

  return {
    redisPort: redis.port,
    pids: { postgres: postgres.pid, redis: redis.pid },
    newDatabase: async () => {
      databases += 1;
      const name = `bench_${databases}`;
      await Promise.all([admin.query(`create database ${name}`), redisAdmin.flushall()]);
      return { name, url: urlOf(name), drop: () => admin.query(`drop database ${name} with (force)`) };
    },
    /** What the workload left undone happens before the clock starts, not while it runs. */
    settle: async (database) => {
      const client = await connect(database.url);
      await client.query("vacuum analyze");
      await client.end();
      await admin.query("checkpoint");
    },
    countConnections: async (database) => {
      const { rows } = await admin.query(
        "select count(*)::int as count from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
        [database.name],
      );
      return rows[0].count;
    },
    /** Undefined unless the servers were started with `counts`. */
    readCounts: !counts
      ? undefined
      : async (database) => {
          const { rows } = await admin.query(
            `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as "walBytes",
               coalesce((select sum(calls) from pg_stat_statements join pg_database on oid = dbid
                 where datname = $1), 0)::float8 as statements`,
            [database.name],
          );
          return rows[0];
        },
    versions: async () => {
      const { rows } = await admin.query("show server_version");
      const [, redisVersion] = /redis_version:(\S+)/.exec(await redisAdmin.info("server"));
      return { postgres: rows[0].server_version, redis: redisVersion };
    },
    stop: async () => {
      await admin.end();
      await network?.stop();
      redisAdmin.disconnect();
      await Promise.all([postgres.stop(), redis.stop()]);
    },
  };
};
