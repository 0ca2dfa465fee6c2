export { type AsyncLock, createAsyncLock } from "leasehold/adapter";
export type { ConnectionRetryConfig } from "./database/busy-retry.ts";

export type { SqliteConnection, SqliteValue } from "./database/connection.ts";

export type { AppliedMigration, MigrationStatus, PendingMigration } from "./migrations/migrate.ts";

export type { SqliteFileOptions, SqliteProviderOptions } from "./options.ts";

export type { HandleProviderOptions, SqliteStateProvider } from "./database/provider.ts";

export {
  type BetterSqlite3Database,
  type BetterSqlite3Statement,
  createBetterSqlite3StateProvider,
} from "./providers/drivers.ts";

export type { SqliteClient, SqliteDriver } from "./providers/drivers.ts";

export type { SqliteFileContext } from "./providers/file.ts";

export {
  createNodeSqliteStateProvider,
  type NodeSqliteDatabase,
  type NodeSqliteStatement,
} from "./providers/drivers.ts";

export { DriverUnavailableError, NetworkFileSystemError, SqliteBusyError } from "./database/errors.ts";

export { createSqliteStateAdapter, type SqliteStateAdapter } from "./state-adapter.ts";

export type { SqliteTransaction, SqliteTransactionContext } from "./database/transactions.ts";
