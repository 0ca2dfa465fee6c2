import {
  createLeasehold,
  defineUnionJobTypes,
  type Leasehold,
  type LeaseholdEvents,
  type LeaseholdOptions,
} from "leasehold";
import pg from "pg";
import postgres from "postgres";
import type { PgStateProvider } from "../database/provider.ts";
import { createPgPoolStateProvider, type PgContext } from "../providers/pg-pool.ts";
import { createPostgresJsStateProvider } from "../providers/postgres-js.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { newSchemaName } from "./fixtures.ts";
import { until } from "./until.ts";

export type Driver = "pg" | "postgres";

/** Writes something in a transaction of Leasehold, with the driver that the transaction belongs to. */
export type Write = (sql: string, params: readonly string[]) => Promise<unknown>;

export interface JobTypes {
  work: { input: { n: number }; output: number };
}

export interface KitOptions {
  /** What Leasehold connects to: the server, or a proxy. */
  readonly url: string;
  /** The server itself, for assertions and for cleaning up. Default: the same. */
  readonly directUrl?: string;
  readonly driver?: Driver;
  readonly schema?: string;
  readonly leasehold?: Pick<
    LeaseholdOptions<JobTypes, never>,
    "storeDeadlineMs" | "storeRetry" | "notifyAdapter" | "runtime"
  >;
  readonly connections?: number;
  /** How long `pg` waits for an answer before it closes a connection. */
  readonly queryTimeoutMs?: number;
  /** Must be off if a proxy has to recognise statements: a prepared statement travels only as its name. Default: true. */
  readonly prepareStatements?: boolean;
  /** Wraps the provider that the adapter gets. */
  readonly wrapProvider?: (provider: PgStateProvider<object, object>) => PgStateProvider<object, object>;
}

interface OpenDriver {
  readonly provider: PgStateProvider<object, object>;
  writeIn(ctx: object): Write;
  end(): Promise<void>;
}

export interface Kit {
  readonly leasehold: Leasehold<JobTypes, PgStateAdapter>;
  readonly stateAdapter: PgStateAdapter;
  readonly schema: string;
  /** Writes in a transaction of Leasehold, as a user would. */
  writeIn(ctx: object): Write;
  /** The events that were logged, by name. */
  readonly seen: { readonly [TName in keyof LeaseholdEvents]?: readonly LeaseholdEvents[TName][] };
  /** Queries the server directly. `$schema` is replaced by the schema. */
  rows<T>(sql: string, params?: readonly unknown[]): Promise<T[]>;
  /** How many jobs there are in each status. */
  statuses(): Promise<Record<string, number>>;
  /** Starts so many jobs of type `work`, with the inputs `{ n: 0 }`, `{ n: 1 }` and so on. */
  start(count: number): Promise<unknown>;
  /** Waits until so many jobs have completed. */
  allCompleted(count: number): Promise<void>;
  close(): Promise<void>;
}

const openDriver = ({
  driver = "pg",
  url,
  connections = 10,
  prepareStatements = true,
  queryTimeoutMs,
}: KitOptions): OpenDriver => {
  if (driver === "pg") {
    const pool = new pg.Pool({
      connectionString: url,
      max: connections,
      application_name: "kit",
      ...(queryTimeoutMs === undefined ? {} : { query_timeout: queryTimeoutMs }),
    });
    const provider = createPgPoolStateProvider({ pool, prepareStatements }) as unknown as PgStateProvider<
      object,
      object
    >;
    const writeIn = (ctx: object): Write => {
      const { client } = ctx as PgContext<pg.PoolClient>;
      return (sql, params) => client.query(sql, [...params]);
    };
    return { provider, writeIn, end: () => pool.end() };
  }
  const sql = postgres(url, {
    max: connections,
    prepare: prepareStatements,
    onnotice: () => {},
    // As the documentation of the provider says.
    fetch_types: false,
    backoff: () => 0.2,
  });
  const provider = createPostgresJsStateProvider({ sql, prepareStatements }) as unknown as PgStateProvider<
    object,
    object
  >;
  const writeIn = (ctx: object): Write => {
    const transaction = (ctx as { sql: postgres.TransactionSql }).sql;
    return (text, params) => transaction.unsafe(text, [...params]);
  };
  return { provider, writeIn, end: () => sql.end({ timeout: 0 }) };
};

/**
 * Leasehold in its own schema, reached through whatever is to fail. The schema also has a table `ledger`, in which handlers
 * write. It is read directly, and shows what really happened.
 */
export const openKit = async (options: KitOptions): Promise<Kit> => {
  const { url, directUrl = url, schema = newSchemaName() } = options;
  const direct = new pg.Pool({ connectionString: directUrl, max: 2 });
  direct.on("error", () => {});
  const { provider, writeIn, end } = openDriver(options);
  const stateProvider = options.wrapProvider?.(provider) ?? provider;
  const stateAdapter = await createPgStateAdapter({ stateProvider, schema });
  await direct.query(
    `CREATE TABLE IF NOT EXISTS ${schema}.ledger (entry bigserial, n int NOT NULL, job_id text NOT NULL,
      attempt int NOT NULL, lease_version int NOT NULL)`,
  );
  const seen: Record<string, unknown[]> = {};
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes<JobTypes>(),
    log: ({ event, data }) => {
      (seen[event] ??= []).push(data);
    },
    ...options.leasehold,
  });

  const rows: Kit["rows"] = async (sql, params = []) => {
    const result = await direct.query(sql.replaceAll("$schema", schema), [...params]);
    return result.rows as never[];
  };

  const statuses: Kit["statuses"] = async () => {
    const counts = await rows<{ status: string; count: number }>(
      "SELECT status, count(*)::int AS count FROM $schema.job GROUP BY status",
    );
    return Object.fromEntries(counts.map(({ status, count }) => [status, count]));
  };

  return {
    leasehold,
    stateAdapter,
    schema,
    writeIn,
    seen,
    rows,
    statuses,
    start: (count) =>
      leasehold.startJobSequences({
        sequences: Array.from({ length: count }, (_, n) => ({ typeName: "work" as const, input: { n } })),
      }),
    allCompleted: (count) =>
      until(async () => (await statuses())["completed"] === count, `${count} jobs have completed`),
    close: async () => {
      await stateAdapter.close();
      await end();
      await direct.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await direct.end();
    },
  };
};
