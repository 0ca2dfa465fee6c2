export type { ConnectionRetryConfig } from "./connection-retry.ts";
export { DocumentTooLargeError, StandaloneServerError } from "./errors.ts";
export type { MongoMigrationStatus } from "./migration-status.ts";
export {
  createMongoProvider,
  type MongoProviderOptions,
  type MongoStateProvider,
  type MongoTransactionContext,
} from "./provider.ts";
export type { MongoStateAdapterOptions } from "./options.ts";
export { createMongoStateAdapter, type MongoStateAdapter } from "./state-adapter.ts";
export { createMongoNotifyAdapter, type MongoNotifyAdapterOptions } from "./notify/notify-adapter.ts";
