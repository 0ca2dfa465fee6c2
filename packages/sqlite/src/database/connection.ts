/** What SQLite can store. */
export type SqliteValue = string | number | bigint | null;

/** The part of a database connection that the adapter uses. All SQLite drivers here are synchronous. */
export interface SqliteConnection {
  /** Runs statements that take no values and whose rows, if any, do not matter. */
  exec(sql: string): void;
  /** Runs one statement that returns no rows. Returns how many rows it changed. */
  run(sql: string, values: readonly SqliteValue[]): number;
  /** Runs one statement and returns its rows, each an array in the order of the columns. */
  query(sql: string, values: readonly SqliteValue[]): readonly (readonly unknown[])[];
  /** The first row of `query`. */
  first(sql: string, values: readonly SqliteValue[]): readonly unknown[] | undefined;
  close(): void;
}

/** A prepared statement as a connection uses it. */
export interface PreparedStatement {
  run(values: readonly SqliteValue[]): number;
  query(values: readonly SqliteValue[]): readonly (readonly unknown[])[];
  first(values: readonly SqliteValue[]): readonly unknown[] | undefined;
}

export interface ConnectionDriver {
  prepare(sql: string, returnsRows: boolean): PreparedStatement;
  exec(sql: string): void;
  close(): void;
}

// The adapter has about fifty statements of its own. The rest is for listings, whose text depends on the filter.
const mostStatements = 200;

/** Prepares each statement once. */
export const createConnection = (driver: ConnectionDriver): SqliteConnection => {
  const statements = new Map<string, PreparedStatement>();

  const withStatement = <T>(
    sql: string,
    returnsRows: boolean,
    use: (statement: PreparedStatement) => T,
  ): T => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      if (statements.size >= mostStatements) statements.clear();
      statement = driver.prepare(sql, returnsRows);
      statements.set(sql, statement);
    }
    try {
      return use(statement);
    } catch (error) {
      // libsql throws the error of a statement's last run again at its next run, so the statement is prepared anew.
      statements.delete(sql);
      throw error;
    }
  };

  return {
    exec: driver.exec,
    run: (sql, values) => withStatement(sql, false, (statement) => statement.run(values)),
    query: (sql, values) => withStatement(sql, true, (statement) => statement.query(values)),
    first: (sql, values) => withStatement(sql, true, (statement) => statement.first(values)),
    close: () => {
      statements.clear();
      driver.close();
    },
  };
};

/** Ends a transaction after an error, which the caller reports. Some errors have ended the transaction already. */
export const rollBackAfter = (db: SqliteConnection): void => {
  try {
    db.exec("ROLLBACK");
  } catch {
    // The error has ended the transaction already.
  }
};
