export type { ConnectionRetryConfig } from "./connection/busy-retry.ts";
export type { SqliteConnection, SqliteValue } from "./connection/connection.ts";
export type { AppliedMigration, MigrationStatus, PendingMigration } from "./migrate.ts";
export type { SqliteFileOptions, SqliteProviderOptions } from "./options.ts";
export type { HandleProviderOptions, SqliteStateProvider } from "./provider.ts";
export {
  type BetterSqlite3Database,
  type BetterSqlite3Statement,
  createBetterSqlite3StateProvider,
} from "./providers/better-sqlite3.ts";
export type { SqliteClient, SqliteDriver } from "./providers/drivers.ts";
export type { SqliteFileContext } from "./providers/file.ts";
export {
  createNodeSqliteStateProvider,
  type NodeSqliteDatabase,
  type NodeSqliteStatement,
} from "./providers/node-sqlite.ts";
export { DriverUnavailableError, NetworkFileSystemError, SqliteBusyError } from "./sqlite-error.ts";
export { createSqliteStateAdapter, type SqliteStateAdapter } from "./state-adapter.ts";
export type { SqliteTransaction, SqliteTransactionContext } from "./connection/transactions.ts";
