import { labelOf } from "./address.ts";
import { loadPackage } from "./load-package.ts";
import { migrationsOf, type OpenAddressOptions, type StoreConnection } from "./store.ts";

const needs = { neededFor: "PostgreSQL", install: "@leasehold/postgres pg" };

export interface PostgresStoreOptions extends OpenAddressOptions {
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
  project,
}: PostgresStoreOptions): Promise<StoreConnection> => {
  const {
    createPgNotifyAdapter,
    createPgPoolNotifyProvider,
    createPgPoolStateProvider,
    createPgStateAdapter,
  } = await loadPackage({
    ...needs,
    name: "@leasehold/postgres",
    load: () => import("@leasehold/postgres"),
    folder: project,
  });
  const { Pool } = (await loadPackage({ ...needs, name: "pg", load: () => import("pg"), folder: project }))
    .default;
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
