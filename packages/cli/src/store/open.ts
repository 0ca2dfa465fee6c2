import type { LeaseholdConfig } from "../config/config.ts";
import { findConfig, type FoundConfig } from "../config/load.ts";
import { CliError, exitCodes } from "../output/exit-codes.ts";
import { parseStoreAddress } from "./address.ts";
import { openMongodb } from "./open-mongodb.ts";
import { openPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";
import {
  finishStore,
  migrationsOf,
  type OpenAddressOptions,
  type OpenedStore,
  type OpenStoreOptions,
  type StoreConnection,
} from "./store.ts";

export interface StoreSources {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The options of these names. */
  readonly store?: string | undefined;
  readonly config?: string | undefined;
  readonly schema?: string | undefined;
  readonly tablePrefix?: string | undefined;
}

type Address =
  | { readonly text: string; readonly source: string; readonly folder: string }
  | { readonly open: Exclude<LeaseholdConfig["store"], string | undefined>; readonly path: string };

/** The command line overrides the environment, and both override the config module. */
const chooseAddress = ({ cwd, env, store }: StoreSources, found: FoundConfig | undefined): Address => {
  if (store !== undefined) return { text: store, source: "--store", folder: cwd };
  const variable = env["LEASEHOLD_STORE"];
  if (variable !== undefined && variable !== "") {
    return { text: variable, source: "LEASEHOLD_STORE", folder: cwd };
  }
  const configured = found?.config.store;
  if (found !== undefined && typeof configured === "function") return { open: configured, path: found.path };
  if (found !== undefined && typeof configured === "string") {
    return { text: configured, source: found.path, folder: found.folder };
  }
  const fallback = env["DATABASE_URL"];
  if (fallback !== undefined && /^(postgres(ql)?|mongodb(\+srv)?):/i.test(fallback)) {
    return { text: fallback, source: "DATABASE_URL", folder: cwd };
  }
  const names = Object.keys(found?.config.stores ?? {});
  throw new CliError("StoreNotGiven", "No store was given.", {
    hint:
      names.length > 0
        ? `Pass --store with one of ${names.join(", ")}.`
        : "Pass --store sqlite:./jobs.db, postgres://… or mongodb://…, set LEASEHOLD_STORE, or write a leasehold.config.ts.",
  });
};

const openAdapters = async (
  open: Extract<Address, { open: unknown }>["open"],
  path: string,
): Promise<StoreConnection> => {
  const made = await open();
  const { stateAdapter } = made ?? {};
  if (typeof stateAdapter?.claimJobs !== "function") {
    throw new CliError("InvalidConfig", `${path}: \`store\` must return { stateAdapter }.`);
  }
  return {
    label: `the store of ${path}`,
    stateAdapter,
    notifyAdapter: made.notifyAdapter,
    migrations: migrationsOf(stateAdapter),
    close: async () => {
      await made.notifyAdapter?.close();
      await stateAdapter.close();
      await made.close?.();
    },
  };
};

const requireMigrated = async (store: OpenedStore): Promise<void> => {
  const status = await store.migrations?.status();
  if (status === undefined || status.pending.length === 0) return;
  const message =
    status.applied.length === 0
      ? `There are no Leasehold tables in ${store.label}.`
      : `The tables in ${store.label} are older than this version of Leasehold.`;
  throw new CliError("StoreNotMigrated", message, {
    exitCode: exitCodes.store,
    hint: "Run `leasehold migrate` (with --dry-run to see the SQL first), or check that this is the right store.",
  });
};

const chosenName = ({ env, store }: StoreSources): string | undefined =>
  store ?? (env["LEASEHOLD_STORE"] || undefined);

/** The stores that the config module names, if none was chosen. */
export const findStoreNames = async (sources: StoreSources): Promise<readonly string[]> => {
  if (chosenName(sources) !== undefined) return [];
  const found = await findConfig(sources.cwd, sources.config);
  return Object.keys(found?.config.stores ?? {});
};

interface Chosen {
  readonly sources: StoreSources;
  readonly found: FoundConfig | undefined;
}

/** Where `--store` is a name of the config module, its settings take the place of the others. */
const resolveName = (sources: StoreSources, found: FoundConfig | undefined): Chosen => {
  const name = chosenName(sources);
  const stores = found?.config.stores ?? {};
  if (found === undefined || name === undefined || !Object.hasOwn(stores, name)) return { sources, found };
  const { tone: _tone, ...settings } = stores[name]!;
  return {
    sources: { ...sources, store: undefined, env: {} },
    found: { ...found, config: { ...found.config, ...settings } },
  };
};

/** Finds the store that the command line, the environment or the config module names, and opens it. */
export const openStore = async (
  given: StoreSources,
  options: OpenStoreOptions & { readonly migrated: boolean },
  onAddress: (address: string) => void,
): Promise<{ readonly store: OpenedStore; readonly found: FoundConfig | undefined }> => {
  const { sources, found } = resolveName(given, await findConfig(given.cwd, given.config));
  const config: LeaseholdConfig = {
    ...found?.config,
    ...(sources.schema === undefined ? {} : { schema: sources.schema }),
    ...(sources.tablePrefix === undefined ? {} : { tablePrefix: sources.tablePrefix }),
  };
  const address = chooseAddress(sources, found);
  if ("text" in address) onAddress(address.text);
  const opened = await openAddress(address, config, { ...options, project: sources.cwd });
  const store = await finishStore(opened, {
    jobTypes: config.jobTypes,
    codec: config.codec,
    storeDeadlineMs: options.storeDeadlineMs,
  });
  try {
    if (options.migrated) await requireMigrated(store);
  } catch (error) {
    await store.close();
    throw error;
  }
  return { store, found };
};

const openAddress = (
  address: Address,
  { schema, tablePrefix, channelPrefix }: LeaseholdConfig,
  options: OpenAddressOptions,
): Promise<StoreConnection> => {
  if ("open" in address) return openAdapters(address.open, address.path);
  const parsed = parseStoreAddress(address.text, address.source);
  switch (parsed.kind) {
    case "sqlite":
      return openSqlite({ ...options, file: parsed.file, folder: address.folder, tablePrefix });
    case "mongodb":
      return openMongodb({ ...options, ...parsed, collectionPrefix: tablePrefix });
    case "postgres":
      return openPostgres({ ...options, url: parsed.url, schema, channelPrefix });
  }
};
