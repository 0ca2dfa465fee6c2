import { loadPackage } from "./load-package.ts";
import { migrationsOf, type OpenAddressOptions, type StoreConnection } from "./store.ts";

const needs = { neededFor: "MongoDB", install: "@leasehold/mongodb mongodb" };

export interface MongodbStoreOptions extends OpenAddressOptions {
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
  project,
}: MongodbStoreOptions): Promise<StoreConnection> => {
  const { createMongoNotifyAdapter, createMongoStateProvider, createMongoStateAdapter } = await loadPackage({
    ...needs,
    name: "@leasehold/mongodb",
    load: () => import("@leasehold/mongodb"),
    folder: project,
  });
  const { MongoClient } = await loadPackage({
    ...needs,
    name: "mongodb",
    load: () => import("mongodb"),
    folder: project,
  });
  const client = new MongoClient(url, {
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
