import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SqliteConnection } from "../database/connection.ts";
import { loadDriver, type SqliteDriver } from "../providers/drivers.ts";
import type { SqliteFileOptions } from "../options.ts";
import { createSqliteStateAdapter, type SqliteStateAdapter } from "../state-adapter.ts";

/** The driver under test; the suites run with each of them, one at a time. */
export const testDriver = (process.env["LEASEHOLD_SQLITE_DRIVER"] ?? "libsql") as SqliteDriver;

export interface TestStore {
  readonly adapter: SqliteStateAdapter;
  readonly file: string;
  destroy(): Promise<void>;
}

export const createTestFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "leasehold-sqlite-"));

/** An adapter over an empty file of its own, unless another one is given. */
export const createTestStore = async (options: Partial<SqliteFileOptions> = {}): Promise<TestStore> => {
  const folder = options.file === undefined ? await createTestFolder() : undefined;
  const file = options.file ?? join(folder ?? "", "jobs.db");
  const adapter = await createSqliteStateAdapter({ driver: testDriver, ...options, file });
  const destroy = async (): Promise<void> => {
    await adapter.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  return { adapter, file, destroy };
};

/**
 * Another connection to a file. With the same driver: two copies of SQLite in one process do not respect each other's locks.
 */
export const openRaw = async (file: string): Promise<SqliteConnection> =>
  (await loadDriver(testDriver))(file).connection;
