import { InvalidOptionError, type OptionNames, requireOptions } from "leasehold/adapter";
import type { SqliteConnection } from "./connection.ts";

// How long SQLite waits for a lock. This blocks the process, so it is only as long as the commit of another process
// usually takes. Longer waits are left to timers.
const busyTimeoutMs = 5;

/**
 * WAL allows reads during a write. With FULL, a commit is on the disk when it returns: without it, a power failure could lose
 * acknowledged jobs.
 */
export const applySafeSettings = (db: SqliteConnection): void => {
  // First, so that the other settings wait for their locks too.
  db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
};

/**
 * How the adapter reaches a database, and what it passes to your code. Make one from a driver's handle with
 * `createBetterSqlite3StateProvider` or `createNodeSqliteStateProvider`, or write your own.
 */
export interface SqliteStateProvider<TContext extends object = object> {
  /** All writes use this one connection, including the user's writes inside a transaction. */
  readonly writer: SqliteConnection;
  /**
   * A second connection to the same database, for reads: they return committed data without waiting for an open
   * transaction. Null where there can be none, as for a database in memory.
   */
  readonly reader: SqliteConnection | null;
  /** What callbacks of `runInTransaction` and `provideContext` get: the handle, or whatever is built on it. */
  readonly context: TContext;
  /** The database's file, if it has one; its write-ahead log is then kept from growing. */
  readonly file: string | null;
  /** Called once, by the adapter's `close`. */
  close(): void;
}

/** Options of a provider over handles that you have opened. */
export interface HandleProviderOptions<TDatabase, TContext> {
  /**
   * The handle to write with. Use it for nothing but Leasehold's transactions: whatever runs on it while one is open
   * becomes part of that one.
   */
  readonly database: TDatabase;
  /** Another handle to the same file, for reads that need not wait for an open transaction. */
  readonly reader?: TDatabase | undefined;
  /** What transactions get as their context. Default: `{ client: database }`. */
  readonly context?: TContext | undefined;
  /** The file of the database, so that its write-ahead log can be watched. */
  readonly file?: string | undefined;
  /** `safe`, the default, sets WAL, `synchronous=FULL` and a short `busy_timeout`; `unchanged` leaves the handles as they are. */
  readonly settings?: "safe" | "unchanged" | undefined;
}

const knownOptions: OptionNames<keyof HandleProviderOptions<unknown, unknown>> = {
  database: true,
  reader: true,
  context: true,
  file: true,
  settings: true,
};

/** A provider over handles that the caller opened, and closes. */
export const createHandleProvider = <TDatabase, TContext extends object>(
  passed: HandleProviderOptions<TDatabase, TContext>,
  functionName: string,
  connect: (database: TDatabase) => SqliteConnection,
): SqliteStateProvider<TContext> => {
  const options = requireOptions(passed, functionName, knownOptions) as typeof passed;
  const { database, reader, context, file, settings = "safe" } = options;
  if (settings !== "safe" && settings !== "unchanged") {
    throw new InvalidOptionError("settings", 'must be "safe" or "unchanged"', settings);
  }
  const writer = connect(database);
  const second = reader === undefined ? null : connect(reader);
  if (settings === "safe") {
    applySafeSettings(writer);
    if (second !== null) applySafeSettings(second);
  }
  return {
    writer,
    reader: second,
    context: context ?? ({ client: database } as object as TContext),
    file: file ?? null,
    close: () => undefined,
  };
};
