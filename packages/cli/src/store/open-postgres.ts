import type pg from "pg";
import { CliError, exitCodes } from "../output/exit-codes.ts";
import { labelOf } from "./address.ts";
import { migrationsOf, type OpenStoreOptions, type StoreConnection } from "./store.ts";

const loadPg = async (): Promise<typeof pg> => {
  try {
    const { default: loaded } = await import("pg");
    return loaded;
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new CliError("DriverMissing", "PostgreSQL needs the package `pg`, which is not installed here.", {
      cause,
      exitCode: exitCodes.store,
      hint: "Run `npm install pg`.",
    });
  }
};

export interface PostgresStoreOptions extends OpenStoreOptions {
  readonly url: string;
  readonly schema: string | undefined;
  readonly channelPrefix: string | undefined;
}

const connectTimeoutMs = 5_000;

/** Connects as @leasehold/postgres does, without touching its tables. */
export const openPostgres = async ({
  url,
  schema = "leasehold",
  channelPrefix,
  notifies,
  connections,
}: PostgresStoreOptions): Promise<StoreConnection> => {
  const { Pool } = await loadPg();
  const {
    createPgNotifyAdapter,
    createPgPoolNotifyProvider,
    createPgPoolStateProvider,
    createPgStateAdapter,
  } = await import("@leasehold/postgres");
  const pool = new Pool({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: "leasehold",
    ...(connections === undefined ? {} : { max: connections }),
  });
  const stateProvider = createPgPoolStateProvider({ pool });
  try {
    // Asked at once, so that a wrong address is the first thing to be reported.
    await pool.query("SELECT 1");
    const stateAdapter = await createPgStateAdapter({ stateProvider, schema, migrate: false });
    const notifyAdapter = notifies
      ? await createPgNotifyAdapter({ notifyProvider: createPgPoolNotifyProvider({ pool }), channelPrefix })
      : undefined;
    return {
      label: `${labelOf(url)} (schema ${schema})`,
      stateAdapter,
      notifyAdapter,
      migrations: migrationsOf(stateAdapter),
      close: async () => {
        await notifyAdapter?.close();
        await stateAdapter.close();
        await pool.end();
      },
    };
  } catch (error) {
    await pool.end();
    throw error;
  }
};
