import { statSync } from "node:fs";
import { formatBytes } from "../output/amounts.ts";
import type { Database } from "../store/store.ts";
import { attempt, type Finding, ok, problem, warning } from "./finding.ts";
import { checkIndexes } from "./migrations.ts";

type Sqlite = Extract<Database, { readonly kind: "sqlite" }>;

export interface SqliteCheckOptions {
  /** Read every page, which takes long for large files. */
  readonly full: boolean;
}

const largeWalBytes = 256 * 1024 * 1024;
const mostFreeShare = 0.5;
const fileReadAtOnce = 64 * 1024 * 1024;
const fileWorthCompacting = 64 * 1024 * 1024;

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

const first = async (database: Sqlite, sql: string): Promise<unknown> => {
  const [row] = await database.query(sql);
  return row === undefined ? undefined : Object.values(row)[0];
};

const checkIntegrity = async (database: Sqlite, full: boolean): Promise<readonly Finding[]> => {
  const bytes = sizeOf(database.file);
  if (!full && bytes > fileReadAtOnce) {
    const text = `Not looked for: reading the ${formatBytes(bytes)} of the file takes a while. --full does it.`;
    return [ok("integrity", text)];
  }
  const pragma = full ? "integrity_check" : "quick_check";
  const rows = (await database.query(`PRAGMA ${pragma}(5)`)).map((row) => String(Object.values(row)[0]));
  if (rows.length === 1 && rows[0] === "ok")
    return [ok("integrity", `PRAGMA ${pragma} finds nothing wrong.`)];
  return [
    problem(
      "integrity",
      `The file is damaged: ${rows.join("; ")}`,
      "Stop all workers, keep a copy, and restore a backup, or recover what there is with `sqlite3 jobs.db .recover`.",
    ),
  ];
};

const checkFile = async (database: Sqlite): Promise<readonly Finding[]> => {
  const findings: Finding[] = [];
  const mode = await first(database, "PRAGMA journal_mode");
  findings.push(
    mode === "wal"
      ? ok("journal", "The journal mode is WAL.")
      : problem(
          "journal",
          `The journal mode is ${String(mode)}, not WAL.`,
          "Readers and the writer block each other; open it once with @leasehold/sqlite.",
        ),
  );
  const walBytes = sizeOf(`${database.file}-wal`);
  findings.push(
    walBytes > largeWalBytes
      ? warning(
          "write-ahead log",
          `It has grown to ${formatBytes(walBytes)}.`,
          "Some process keeps a read transaction open, which keeps the log from being cut back.",
        )
      : ok(
          "write-ahead log",
          `${formatBytes(walBytes)}, beside a database of ${formatBytes(sizeOf(database.file))}.`,
        ),
  );
  const pages = Number(await first(database, "PRAGMA page_count"));
  const free = Number(await first(database, "PRAGMA freelist_count"));
  const empty = `${Math.round((free / Math.max(1, pages)) * 100)} % of the file is empty.`;
  findings.push(
    sizeOf(database.file) > fileWorthCompacting && free > pages * mostFreeShare
      ? warning("free space", empty, "VACUUM makes it smaller; it locks the database meanwhile.")
      : ok("free space", empty),
  );
  return findings;
};

const checkSqliteIndexes = async (database: Sqlite): Promise<readonly Finding[]> => {
  const rows = await database.query("SELECT name FROM sqlite_master WHERE type = 'index'");
  return checkIndexes(
    database,
    rows.map((row) => String(row["name"])),
  );
};

export const checkSqlite = async (
  database: Sqlite,
  { full }: SqliteCheckOptions,
): Promise<readonly Finding[]> => [
  ...(await attempt("integrity", () => checkIntegrity(database, full))),
  ...(await attempt("file", () => checkFile(database))),
  ...(await attempt("indexes", () => checkSqliteIndexes(database))),
];
