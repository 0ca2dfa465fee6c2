import { InvalidOptionError } from "leasehold/adapter";
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { BusyRetry } from "../database/busy-retry.ts";
import type { SqliteConnection } from "../database/connection.ts";
import { NetworkFileSystemError } from "../database/errors.ts";
import { applySafeSettings, type SqliteStateProvider } from "../database/provider.ts";
import {
  defaultDriver,
  type DriverHandle,
  loadDriver,
  type SqliteClient,
  type SqliteDriver,
} from "./drivers.ts";

// As Linux names them in statfs(2). FUSE is not among them: it may be a network or a local disk.
const networkFileSystems: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB2",
  0x5346414f: "AFS",
  0x6b414653: "AFS",
  0x73757245: "Coda",
  0x01021997: "9P",
  0x00c36400: "Ceph",
  0x0bd00bd0: "Lustre",
  0x564c: "NCP",
  0x786f4256: "VirtualBox shared folder",
};

export type ReadFileSystemType = (folder: string) => Promise<number>;

const readFileSystemType: ReadFileSystemType = async (folder) => (await statfs(folder)).type;

/** Throws for a folder on a network file system, if the platform reports it. */
export const assertLocalFileSystem = async (
  folder: string,
  platform: NodeJS.Platform = process.platform,
  readType: ReadFileSystemType = readFileSystemType,
): Promise<void> => {
  if (platform === "win32" && /^[\\/]{2}[^?.\\/]/.test(folder))
    throw new NetworkFileSystemError("network share");
  if (platform !== "linux") return;
  // Some of these numbers have the highest bit set and come back as negative.
  const name = networkFileSystems[(await readType(folder)) >>> 0];
  if (name !== undefined) throw new NetworkFileSystemError(name);
};

/** The context of a transaction: `client` is the driver's handle. */
export interface SqliteFileContext {
  readonly client: SqliteClient;
}

// A log that has grown during a long read is truncated to this size when it starts over.
const walSizeLimit = 32 * 1024 * 1024;
// In KiB. SQLite's default of 2 MB is too small for the upper pages of a table with a million jobs.
const cacheSize = 16 * 1024;

const inMemory = ":memory:";

/** Empties the log, so that a copy of the file alone is complete. Fails while other processes use the log. */
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
  driver = defaultDriver(),
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
