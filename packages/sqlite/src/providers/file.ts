import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { InvalidOptionError } from "leasehold/adapter";
import type { BusyRetry } from "../connection/busy-retry.ts";
import type { SqliteConnection } from "../connection/connection.ts";
import { assertLocalFileSystem } from "../network-file-system.ts";
import type { SqliteStateProvider } from "../provider.ts";
import { applySafeSettings } from "../connection/settings.ts";
import { type DriverHandle, loadDriver, type SqliteClient, type SqliteDriver } from "./drivers.ts";

export interface SqliteFileContext {
  readonly client: SqliteClient;
}

// A log that has grown during a long read is truncated to this size when it starts over.
const walSizeLimit = 32 * 1024 * 1024;
// In KiB. SQLite's default of 2 MB is too small for the upper pages of a table with a million jobs.
const cacheSize = 16 * 1024;

const inMemory = ":memory:";

/** Makes the file alone the whole database, in case somebody copies it. Fails while other processes use the log. */
const emptyLog = (connection: SqliteConnection): void => {
  try {
    connection.query("PRAGMA wal_checkpoint(TRUNCATE)", []);
  } catch {
    // The log is read when the file is next opened.
  }
};

export interface OpenFileOptions {
  readonly file: string;
  readonly driver: SqliteDriver | undefined;
  readonly retryBusy: BusyRetry;
}

/** Opens a file with settings that keep acknowledged jobs: one connection to write, another to read. */
export const openFile = async ({
  file,
  driver = "libsql",
  retryBusy,
}: OpenFileOptions): Promise<SqliteStateProvider<SqliteFileContext>> => {
  const path = file === inMemory ? file : resolve(file);
  const folder = dirname(path);
  if (file !== inMemory) {
    if (!existsSync(folder)) throw new InvalidOptionError("file", "must be in a folder that exists", file);
    await assertLocalFileSystem(folder);
  }
  const open = await loadDriver(driver);
  const handles: DriverHandle[] = [];
  const close = (): void => {
    for (const { connection } of handles.splice(0)) connection.close();
  };

  const connect = async (): Promise<DriverHandle> => {
    const handle = open(path);
    handles.push(handle);
    const { connection } = handle;
    // Turning WAL on needs a lock, which another process that starts at the same time may hold.
    await retryBusy(() => applySafeSettings(connection));
    const [mode] = connection.first("PRAGMA journal_mode", []) ?? [];
    if (mode !== "wal" && file !== inMemory) {
      throw new InvalidOptionError("file", "must be on a file system that can share memory, for WAL", file);
    }
    connection.exec("PRAGMA foreign_keys = ON");
    connection.exec(`PRAGMA journal_size_limit = ${walSizeLimit}`);
    connection.exec(`PRAGMA cache_size = -${cacheSize}`);
    return handle;
  };

  try {
    const writer = await connect();
    const reader = file === inMemory ? null : (await connect()).connection;
    reader?.exec("PRAGMA query_only = ON");
    return {
      writer: writer.connection,
      reader,
      context: { client: writer.client },
      file: file === inMemory ? null : path,
      close: () => {
        emptyLog(writer.connection);
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
};
