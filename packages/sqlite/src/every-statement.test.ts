import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type LosingAdapter, lostStatementConformance, type TableDump } from "leasehold/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { SqliteConnection } from "./database/connection.ts";
import { createSqliteStateAdapter } from "./state-adapter.ts";
import { createRecordingProvider } from "./testing/recording.ts";
import { createTestFolder } from "./testing/store.ts";

class LostFile extends Error {
  readonly code = "SQLITE_IOERR";
}

let folder: string;
let raw: SqliteConnection;
const adapters: { close(): Promise<void> }[] = [];

const fileName = (): string => join(folder, "jobs.db");

const open = async (provider = createRecordingProvider(fileName()).provider) => {
  const adapter = await createSqliteStateAdapter({ stateProvider: provider });
  adapters.push(adapter);
  return adapter;
};

beforeAll(async () => {
  folder = await createTestFolder();
  await open();
  raw = createRecordingProvider(fileName()).provider.writer;
});

afterAll(async () => {
  raw.close();
  await closeAll();
  await rm(folder, { recursive: true, force: true });
});

const closeAll = async (): Promise<void> => {
  await Promise.all(adapters.splice(0).map((adapter) => adapter.close()));
};

const openLosing = async (nth: number, when: "before" | "after"): Promise<LosingAdapter> => {
  const recording = createRecordingProvider(fileName());
  const adapter = await open(recording.provider);
  let count = 0;
  let isLost = false;
  let isArmed = false;
  recording.onStatement = (sql) => {
    // In this process, a transaction that has begun is known to have begun.
    if (!isArmed || (when === "after" && sql.startsWith("BEGIN"))) return;
    count += 1;
    if (count === nth && when === "before") throw new LostFile("lost before the statement");
  };
  recording.afterStatement = () => {
    if (!isArmed || when === "before" || count < nth || isLost) return;
    isLost = true;
    throw new LostFile("lost before the reply");
  };
  return {
    adapter,
    arm: () => {
      isArmed = true;
    },
    disarm: () => {
      isArmed = false;
    },
    isReached: () => count >= nth,
  };
};

const tableNames = (): string[] =>
  raw
    .query("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'leasehold_%' ORDER BY 1", [])
    .map((row) => String(row[0]));

/** The version of the rules also counts calls that change nothing. */
const isCounter = (table: string): boolean => table.endsWith("limit_epoch");

const dump = async (): Promise<TableDump> =>
  Object.fromEntries(
    tableNames()
      .filter((table) => !isCounter(table))
      .map((table) => [table, JSON.stringify(raw.query(`SELECT * FROM ${table}`, []))]),
  );

const reset = async (): Promise<void> => {
  await closeAll();
  for (const table of tableNames())
    if (!isCounter(table) && !table.endsWith("migration")) raw.exec(`DELETE FROM ${table}`);
};

lostStatementConformance(
  { describe, it, afterAll },
  { open, openLosing, isLoss: (error) => error instanceof LostFile, dump, reset },
);
