// The ways in which a process of this story reaches the cluster: a driver, and a route.
import { fileURLToPath } from "node:url";
import pg from "pg";
import postgres from "postgres";
import {
  createPgNotifyAdapter,
  createPgPoolNotifyProvider,
  createPgPoolStateProvider,
  createPgStateAdapter,
  createPostgresJsNotifyProvider,
  createPostgresJsStateProvider,
} from "../../dist/index.js";

const host = "127.0.0.1";

/** Reads the example of the documentation, which is TypeScript. */
const loadPrimaryPool = async () => {
  const { runnerImport } = await import("vite");
  const file = fileURLToPath(new URL("../../examples/several-hosts.ts", import.meta.url));
  const { module } = await runnerImport(file, { configFile: false, logLevel: "silent" });
  return module.createPrimaryPool;
};

const connectPg = async ({ name, route, ports, user, connections }) => {
  const config = {
    user,
    database: "postgres",
    application_name: name,
    max: connections,
    keepAlive: true,
    connectionTimeoutMillis: 3_000,
    query_timeout: 10_000,
  };
  const primary = { host, port: ports.haproxy };
  const open = {
    haproxy: () => new pg.Pool({ ...config, ...primary }),
    pgbouncer: () => new pg.Pool({ ...config, host, port: ports.pgbouncer }),
    hosts: async () => {
      const createPrimaryPool = await loadPrimaryPool();
      return createPrimaryPool(
        ports.nodes.map((port) => ({ host, port })),
        config,
      );
    },
  };
  const pool = await open[route]();
  const pooled = route === "pgbouncer";
  return {
    stateProvider: createPgPoolStateProvider({ pool, prepareStatements: !pooled }),
    notifyProvider: createPgPoolNotifyProvider({
      pool,
      // LISTEN needs a session.
      ...(pooled ? { createClient: () => new pg.Client({ ...config, ...primary }) } : {}),
    }),
    write: (ctx, sql, params) => ctx.client.query(sql, params),
    end: () => pool.end(),
  };
};

const connectPostgresJs = async ({ name, route, ports, user, connections }) => {
  const pooled = route === "pgbouncer";
  const config = {
    user,
    database: "postgres",
    connection: { application_name: name },
    max: connections,
    fetch_types: false,
    backoff: () => 0.5,
    connect_timeout: 3,
    onnotice: () => {},
  };
  const primary = postgres({ ...config, host, port: ports.haproxy });
  const open = {
    haproxy: () => primary,
    pgbouncer: () => postgres({ ...config, host, port: ports.pgbouncer, prepare: false }),
    hosts: () =>
      postgres({
        ...config,
        host: ports.nodes.map(() => host),
        port: ports.nodes,
        // Version 3.4 takes a standby for "read-write", too.
        target_session_attrs: "primary",
      }),
  };
  const sql = open[route]();
  return {
    stateProvider: createPostgresJsStateProvider({ sql, prepareStatements: !pooled }),
    notifyProvider: createPostgresJsNotifyProvider({ sql: pooled ? primary : sql }),
    write: (ctx, text, params) => ctx.sql.unsafe(text, params),
    end: () => Promise.all([sql, primary].map((each) => each.end({ timeout: 1 }))),
  };
};

const drivers = { pg: connectPg, postgres: connectPostgresJs };

export const connect = async (settings) => {
  const { stateProvider, notifyProvider, write, end } = await drivers[settings.driver](settings);
  const stateAdapter = await createPgStateAdapter({
    stateProvider,
    migrate: false,
    connectionRetryConfig: { maxAttempts: 100 },
  });
  const notifyAdapter = await createPgNotifyAdapter({ notifyProvider, heartbeatMs: 3_000 });
  return {
    stateAdapter,
    notifyAdapter,
    write,
    close: async () => {
      await notifyAdapter.close();
      await stateAdapter.close();
      await end();
    },
  };
};
