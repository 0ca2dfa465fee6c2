import {
  createLeasehold,
  defineUnionJobTypes,
  type Leasehold,
  type LeaseholdEvents,
  type LeaseholdOptions,
} from "leasehold";
import pg from "pg";
import postgres from "postgres";
import type { PgStateProvider } from "../provider.ts";
import { createPgPoolProvider, type PgContext } from "../providers/pg-pool.ts";
import { createPostgresJsProvider } from "../providers/postgres-js.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { newSchemaName } from "./fixtures.ts";

export type Driver = "pg" | "postgres";

/** What the user's own writes look like, whichever driver the transaction belongs to. */
export type Write = (sql: string, params: readonly string[]) => Promise<unknown>;

export interface JobTypes {
  work: { input: { n: number }; output: number };
}

export interface KitOptions {
  /** Where the jobs go through; a proxy, for instance. */
  readonly url: string;
  /** The server itself, for looking and for cleaning up. Default: the same. */
  readonly directUrl?: string;
  readonly driver?: Driver;
  readonly schema?: string;
  readonly leasehold?: Pick<
    LeaseholdOptions<JobTypes, never>,
    "storeDeadlineMs" | "storeRetry" | "notifyAdapter" | "runtime"
  >;
  readonly connections?: number;
  /** How long `pg` waits for an answer before it gives a connection up. */
  readonly queryTimeoutMs?: number;
  /** Off where a proxy has to recognise statements: a prepared one is only named. Default: true. */
  readonly prepareStatements?: boolean;
  /** Stands between the adapter and the driver. */
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
  /** Writes of the user's own in a transaction of Leasehold's. */
  writeIn(ctx: object): Write;
  /** The events that are worth a line in the log, by name. */
  readonly seen: { readonly [TName in keyof LeaseholdEvents]?: readonly LeaseholdEvents[TName][] };
  /** Asks the server itself; `$schema` stands for the schema. */
  rows<T>(sql: string, params?: readonly unknown[]): Promise<T[]>;
  /** How many jobs there are in each status. */
  statuses(): Promise<Record<string, number>>;
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
    const provider = createPgPoolProvider({ pool, prepareStatements }) as unknown as PgStateProvider<
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
    // As the provider advises.
    fetch_types: false,
    backoff: () => 0.2,
  });
  const provider = createPostgresJsProvider({ sql, prepareStatements }) as unknown as PgStateProvider<
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
 * Leasehold in a schema of its own, reached through whatever is to break, with a table `ledger` of the user's beside it
 * that is read directly: it tells what really happened.
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

  return {
    leasehold,
    stateAdapter,
    schema,
    writeIn,
    seen,
    rows,
    statuses: async () => {
      const counts = await rows<{ status: string; count: number }>(
        "SELECT status, count(*)::int AS count FROM $schema.job GROUP BY status",
      );
      return Object.fromEntries(counts.map(({ status, count }) => [status, count]));
    },
    close: async () => {
      await stateAdapter.close();
      await end();
      await direct.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await direct.end();
    },
  };
};
