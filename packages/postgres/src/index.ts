export { StaleSnapshotError, TransactionRolledBackError } from "./errors.ts";
export type { MigrationStatus } from "./migrate.ts";
export type { ReadLag } from "./read-copy.ts";
export type { PgStateProvider, SqlRow, SqlStatement } from "./provider.ts";
export {
  createPgPoolProvider,
  type PgClientLike,
  type PgClientOf,
  type PgContext,
  type PgPoolClientLike,
  type PgPoolLike,
  type PgPoolProviderOptions,
} from "./providers/pg-pool.ts";
export { ignorePoolErrors, type PgPoolEvents } from "./providers/pool-errors.ts";
export {
  createPostgresJsProvider,
  type PostgresJsContext,
  type PostgresJsLike,
  type PostgresJsProviderOptions,
  type PostgresJsTransactionContext,
  type PostgresJsTransactionLike,
} from "./providers/postgres-js.ts";
export {
  type ConnectionRetryConfig,
  createPgStateAdapter,
  type PgStateAdapter,
  type PgStateAdapterOptions,
} from "./state-adapter.ts";
export { createPgNotifyAdapter, type PgNotifyAdapterOptions } from "./notify-adapter.ts";
export type { PgNotifyProvider, PgSubscription, PgSubscriptionHandlers } from "./notify-provider.ts";
export {
  createPgNotifyProvider,
  type PgDedicatedClientLike,
  type PgListeningClientLike,
  type PgNotifyPoolLike,
  type PgNotifyProviderOptions,
} from "./providers/pg-notify.ts";
export {
  createPostgresJsNotifyProvider,
  type PostgresJsNotifyLike,
  type PostgresJsNotifyProviderOptions,
} from "./providers/postgres-js-notify.ts";
