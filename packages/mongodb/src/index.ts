export { DocumentTooLargeError, StandaloneServerError } from "./database/errors.ts";

export type { MongoMigrationStatus } from "./migrate.ts";

export {
  createMongoStateProvider,
  type MongoProviderOptions,
  type MongoStateProvider,
  type MongoTransactionContext,
} from "./database/provider.ts";

export type { MongoStateAdapterOptions } from "./options.ts";

export { createMongoStateAdapter, type MongoStateAdapter } from "./state-adapter.ts";

export { createMongoNotifyAdapter, type MongoNotifyAdapterOptions } from "./notify/notify-adapter.ts";
