import type { MongoClient } from "mongodb";
import { CliError, exitCodes } from "../output/exit-codes.ts";
import { migrationsOf, type OpenStoreOptions, type StoreConnection } from "./store.ts";

const loadDriver = async (): Promise<typeof MongoClient> => {
  try {
    const { MongoClient: loaded } = await import("mongodb");
    return loaded;
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new CliError("DriverMissing", "MongoDB needs the package `mongodb`, which is not installed here.", {
      cause,
      exitCode: exitCodes.store,
      hint: "Run `npm install mongodb`.",
    });
  }
};

export interface MongodbStoreOptions extends OpenStoreOptions {
  readonly url: string;
  /** The address as it may be printed. */
  readonly label: string;
  readonly collectionPrefix: string | undefined;
}

const connectTimeoutMs = 5_000;

/** Connects as @leasehold/mongodb does, without touching its collections. */
export const openMongodb = async ({
  url,
  label,
  collectionPrefix = "leasehold_",
  notifies,
  connections,
}: MongodbStoreOptions): Promise<StoreConnection> => {
  const Client = await loadDriver();
  const { createMongoNotifyAdapter, createMongoStateProvider, createMongoStateAdapter } =
    await import("@leasehold/mongodb");
  const client = new Client(url, {
    appName: "leasehold",
    serverSelectionTimeoutMS: connectTimeoutMs,
    ...(connections === undefined ? {} : { maxPoolSize: connections }),
  });
  try {
    // Asked at once, so that a wrong address is the first thing to be reported.
    await client.connect();
    const stateAdapter = await createMongoStateAdapter({
      stateProvider: createMongoStateProvider({ client }),
      collectionPrefix,
      migrate: false,
    });
    const notifyAdapter = notifies ? await createMongoNotifyAdapter({ client, collectionPrefix }) : undefined;
    return {
      label,
      stateAdapter,
      notifyAdapter,
      migrations: migrationsOf(stateAdapter),
      close: async () => {
        await notifyAdapter?.close();
        await stateAdapter.close();
        await client.close();
      },
    };
  } catch (error) {
    await client.close();
    throw error;
  }
};
