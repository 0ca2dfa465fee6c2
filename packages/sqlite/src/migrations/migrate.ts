import type { BusyRetry } from "../database/busy-retry.ts";
import { rollBackAfter, type SqliteConnection } from "../database/connection.ts";
import type { Tables } from "../database/tables.ts";
import { createTables } from "./0001-initial.ts";

/** A migration that the tables have. */
export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
}

/** A migration that is still to be applied, with its SQL. */
export interface PendingMigration extends AppliedMigration {
  readonly sql: string;
}

/** Which migrations the tables have, and which are still to be applied. */
export interface MigrationStatus {
  readonly applied: readonly AppliedMigration[];
  readonly pending: readonly PendingMigration[];
}

export interface Migration extends AppliedMigration {
  readonly statements: (tables: Tables, idType: string) => readonly string[];
}

// Append only. Workers of the version before must work with the result: both versions run during a deployment.
export const migrations: readonly Migration[] = [{ version: 1, name: "initial", statements: createTables }];

export interface Migrations {
  /** All migrations: creates the tables in an empty database. */
  readonly sql: string;
  /** Which migrations are applied and which are pending. Changes nothing. */
  status(db: SqliteConnection): MigrationStatus;
  /** Applies the pending migrations. Several processes may call it at once: one applies them, the others wait. */
  migrate(): Promise<MigrationStatus>;
}

export interface MigrationsOptions {
  readonly db: SqliteConnection;
  readonly retryBusy: BusyRetry;
  readonly tables: Tables;
  readonly idType: string;
  readonly now: () => number;
  /** Default: all migrations of this version. */
  readonly known?: readonly Migration[] | undefined;
}

export const createMigrations = ({
  db,
  retryBusy,
  tables,
  idType,
  now,
  known = migrations,
}: MigrationsOptions): Migrations => {
  const { migration: table } = tables;
  const exists = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?";
  const create = `CREATE TABLE ${table} (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL)`;
  const list = `SELECT version, name FROM ${table} ORDER BY version`;
  const record = `INSERT INTO ${table} (version, name, applied_at) VALUES (?, ?, ?)`;

  const hasTable = (db: SqliteConnection): boolean => db.query(exists, [table.slice(1, -1)]).length > 0;

  const sqlOf = ({ statements }: Migration): string => `${statements(tables, idType).join(";\n")};\n`;

  const status = (db: SqliteConnection): MigrationStatus => {
    const applied = hasTable(db)
      ? db.query(list, []).map(([version, name]) => ({ version, name }) as AppliedMigration)
      : [];
    const done = new Set(applied.map(({ version }) => version));
    const pending = known
      .filter(({ version }) => !done.has(version))
      .map((migration) => ({ version: migration.version, name: migration.name, sql: sqlOf(migration) }));
    return { applied, pending };
  };

  const applyPending = (): void => {
    if (!hasTable(db)) db.exec(create);
    for (const { version, name, sql } of status(db).pending) {
      db.exec(sql);
      db.run(record, [version, name, now()]);
    }
  };

  return {
    sql: known.map(sqlOf).join(""),
    status,
    migrate: async () => {
      const before = await retryBusy(() => status(db));
      if (before.pending.length === 0) return before;
      // The write lock is enough: a process that has waited for it finds no pending migration.
      await retryBusy(() => db.exec("BEGIN IMMEDIATE"));
      try {
        applyPending();
        db.exec("COMMIT");
      } catch (error) {
        rollBackAfter(db);
        throw error;
      }
      return retryBusy(() => status(db));
    },
  };
};
