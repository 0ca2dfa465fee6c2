export { StandaloneServerError } from "./errors.ts";
export type { MongoMigrationStatus } from "./migration-status.ts";
export {
  createMongoProvider,
  type MongoProviderOptions,
  type MongoStateProvider,
  type MongoTransactionContext,
} from "./provider.ts";
export {
  createMongoStateAdapter,
  type MongoStateAdapter,
  type MongoStateAdapterOptions,
} from "./state-adapter.ts";
export { createMongoNotifyAdapter, type MongoNotifyAdapterOptions } from "./notify/notify-adapter.ts";
