import {
  type CheckDepth,
  type RunChecksCall,
  finding,
  type CheckResult,
  formatBytes,
  judgeIndexes,
  judgeMigrations,
  tryCheck,
} from "leasehold/adapter";
import { statSync } from "node:fs";
import type { SqliteConnection } from "./database/connection.ts";
import { isDamage } from "./database/errors.ts";
import { firstNumber } from "./database/sql.ts";
import type { Tables } from "./database/tables.ts";
import type { Migrations } from "./migrations/migrate.ts";

export interface DiagnosticsContext {
  readonly migrations: Migrations;
  readonly tables: Tables;
  /** The database's file; null if the provider has none, or the database is in memory. */
  readonly file: string | null;
  /** Reads as every operation does. */
  read<T>(look: (db: SqliteConnection) => T): Promise<T>;
}

const largeWalBytes = 256 * 1024 * 1024;

const mostFreeShare = 0.5;

const fileReadAtOnce = 64 * 1024 * 1024;

const fileWorthCompacting = 64 * 1024 * 1024;

const pragma = (db: SqliteConnection, name: string): unknown => db.first(`PRAGMA ${name}`, [])?.[0];

const sizeOf = (db: SqliteConnection): number =>
  Number(pragma(db, "page_count")) * Number(pragma(db, "page_size"));

/** The rows of an integrity check. If the file is too damaged to be checked, the error is the result. */
const findDamage = async ({ read }: DiagnosticsContext, check: string): Promise<string[]> => {
  try {
    return (await read((db) => db.query(`PRAGMA ${check}(5)`, []))).map(([text]) => String(text));
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [error instanceof Error ? error.message : String(error)];
  }
};

const checkIntegrity = async (
  examined: DiagnosticsContext,
  depth: CheckDepth,
): Promise<readonly CheckResult[]> => {
  if (depth === "light") return [];
  const bytes = await examined.read(sizeOf);
  if (depth !== "full" && bytes > fileReadAtOnce) {
    const text = `Not looked for: reading the ${formatBytes(bytes)} of the file takes a while. --full does it.`;
    return [finding.ok("integrity", text)];
  }
  const name = depth === "full" ? "integrity_check" : "quick_check";
  const rows = await findDamage(examined, name);
  if (rows.length === 1 && rows[0] === "ok")
    return [finding.ok("integrity", `PRAGMA ${name} finds nothing wrong.`)];
  return [
    finding.problem(
      "integrity",
      `The file is damaged: ${rows.join("; ")}`,
      "Stop all workers, keep a copy, and restore a backup, or recover what there is with `sqlite3 jobs.db .recover`.",
    ),
  ];
};

const checkLog = (file: string, bytes: number): CheckResult => {
  const walBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return walBytes > largeWalBytes
    ? finding.warning(
        "write-ahead log",
        `It has grown to ${formatBytes(walBytes)}.`,
        "Some process keeps a read transaction open, which keeps the log from being cut back.",
      )
    : finding.ok("write-ahead log", `${formatBytes(walBytes)}, beside a database of ${formatBytes(bytes)}.`);
};

const checkFile = async ({ read, file }: DiagnosticsContext): Promise<readonly CheckResult[]> => {
  const { mode, bytes, pages, free } = await read((db) => ({
    mode: String(pragma(db, "journal_mode")),
    bytes: sizeOf(db),
    pages: Number(pragma(db, "page_count")),
    free: Number(pragma(db, "freelist_count")),
  }));
  const findings: CheckResult[] = [];
  if (mode === "wal") findings.push(finding.ok("journal", "The journal mode is WAL."));
  // A database in memory has no journal to choose.
  else if (mode !== "memory")
    findings.push(
      finding.problem(
        "journal",
        `The journal mode is ${mode}, not WAL.`,
        "Readers and the writer block each other; open it once with @leasehold/sqlite.",
      ),
    );
  if (file !== null && mode !== "memory") findings.push(checkLog(file, bytes));
  const empty = `${Math.round((free / Math.max(1, pages)) * 100)} % of the file is empty.`;
  findings.push(
    bytes > fileWorthCompacting && free > pages * mostFreeShare
      ? finding.warning("free space", empty, "VACUUM makes it smaller; it locks the database meanwhile.")
      : finding.ok("free space", empty),
  );
  return findings;
};

const checkIndexes = async ({ read, migrations }: DiagnosticsContext): Promise<readonly CheckResult[]> => {
  const rows = await read((db) => db.query("SELECT name FROM sqlite_master WHERE type = 'index'", []));
  return [
    judgeIndexes(
      migrations.sql,
      rows.map(([name]) => String(name)),
    ),
  ];
};

export const estimateJobs = ({ read, tables }: DiagnosticsContext, limit: number): Promise<number> =>
  read((db) => firstNumber(db, `SELECT count(*) FROM (SELECT 1 FROM ${tables.job} LIMIT ?)`, [limit]) ?? 0);

export const runChecks = async (
  examined: DiagnosticsContext,
  { depth }: RunChecksCall,
): Promise<readonly CheckResult[]> => [
  ...(await tryCheck("migrations", async () => [
    judgeMigrations(await examined.read(examined.migrations.status)),
  ])),
  ...(await tryCheck("integrity", () => checkIntegrity(examined, depth))),
  ...(await tryCheck("file", () => checkFile(examined))),
  ...(await tryCheck("indexes", () => checkIndexes(examined))),
];
