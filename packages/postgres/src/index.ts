export { PreparedStatementError, StaleSnapshotError, TransactionRolledBackError } from "./database/errors.ts";

export type { MigrationStatus } from "./migrations/migrate.ts";

export type { ReadLag } from "./database/read-replica.ts";

export type { PgStateProvider, SqlRow, SqlStatement } from "./database/provider.ts";

export {
  createPgPoolStateProvider,
  type PgClientLike,
  type PgClientOf,
  type PgContext,
  type PgPoolClientLike,
  type PgPoolLike,
  type PgPoolProviderOptions,
} from "./providers/pg-pool.ts";

export { ignorePoolErrors, type PgPoolEvents } from "./providers/pg-pool.ts";

export {
  createPostgresJsStateProvider,
  type PostgresJsContext,
  type PostgresJsLike,
  type PostgresJsProviderOptions,
  type PostgresJsTransactionContext,
} from "./providers/postgres-js.ts";
export { type PostgresJsTransactionLike } from "./providers/postgres-js-transaction.ts";

export type { PgStateAdapterOptions } from "./options.ts";
export { createPgStateAdapter, type PgStateAdapter } from "./state-adapter.ts";

export { createPgNotifyAdapter, type PgNotifyAdapterOptions } from "./notify/notify-adapter.ts";

export type { PgNotifyProvider, PgSubscription, PgSubscriptionHandlers } from "./notify/provider.ts";

export {
  createPgPoolNotifyProvider,
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
