import type { SqliteConnection, SqliteValue } from "./connection.ts";

/** Whether a column has one of the values of a list that may be left out. Takes the values of `optionalList`. */
export const isInOptionalList = (column: string): string =>
  `(? IS NULL OR ${column} IN (SELECT value FROM json_each(?)))`;

export const optionalList = (wanted: readonly string[] | undefined): SqliteValue[] => {
  const list = wanted === undefined ? null : JSON.stringify(wanted);
  return [list, list];
};

/**
 * The columns of a row. A description is a function that calls these methods and returns an object. It runs in two ways:
 * once to list the columns for a statement, then to read them from every row. The same code does both in the same order, so
 * a value cannot end up in the wrong property.
 */
export interface Columns {
  /** The value of an SQL expression that is never null. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the property it is for decides the type
  value<T extends string | number>(sql: string): T;
  /** The value of an SQL expression; `usually` is what a null stands for. */
  value<T extends string | number | null>(sql: string, usually: T): T;
  /** The same, for a column that gets its value later: inserts leave it to its default. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the property it is for decides the type
  later<T extends string | number>(sql: string): T;
  later<T extends string | number | null>(sql: string, usually: T): T;
  /** The same, for a column that few inserts write. */
  rare<T extends string | number | null>(sql: string, usually: T): T;
  /** Whether an SQL condition holds. */
  holds(sql: string): boolean;
  /** A column that is null for the usual value, and 0 or 1 otherwise. */
  flag(sql: string, usually: boolean): boolean;
  /** The same, for a column that gets its value later. */
  laterFlag(sql: string, usually: boolean): boolean;
}

/** What a description gets in place of a value while it lists the columns. */
export interface ListedColumn {
  readonly sql: string;
  /** A constant, or a column that was listed before; undefined for a column that is never null. */
  readonly usually: ListedColumn | string | number | boolean | null | undefined;
  /** Which inserts write the column: all, inserts of rows with a rare value, or none. */
  readonly inserted: "always" | "rarely" | "never";
}

// The columns listed so far; null while rows are read. One object does both: with separate functions for listing, each call
// in a description would be polymorphic, and V8 could not compile it to plain array reads.
let list: ListedColumn[] | null = null;

let values: readonly unknown[] = [];

let position = 0;

const addTo = (
  columns: ListedColumn[],
  sql: string,
  usually?: unknown,
  inserted: ListedColumn["inserted"] = "always",
): never => {
  const column = { sql, usually, inserted } as ListedColumn;
  columns.push(column);
  return column as never;
};

const readFlag = (usually: boolean): boolean => {
  const value = values[position++] ?? null;
  return value === null ? usually : value !== 0;
};

const columns: Columns = {
  value: (sql: string, usually?: unknown) =>
    list === null ? ((values[position++] ?? usually) as never) : addTo(list, sql, usually),
  later: (sql: string, usually?: unknown) =>
    list === null ? ((values[position++] ?? usually) as never) : addTo(list, sql, usually, "never"),
  rare: (sql: string, usually?: unknown) =>
    list === null ? ((values[position++] ?? usually) as never) : addTo(list, sql, usually, "rarely"),
  holds: (sql) => (list === null ? values[position++] === 1 : addTo(list, sql)),
  flag: (sql, usually) => (list === null ? readFlag(usually) : addTo(list, sql, usually)),
  laterFlag: (sql, usually) => (list === null ? readFlag(usually) : addTo(list, sql, usually, "never")),
};

/** Runs a description to list its columns. In what it returns, each column is in the place of its value. */
export const listColumns = <T>(
  describe: (columns: Columns) => T,
): { readonly listed: readonly ListedColumn[]; readonly described: T } => {
  const listed: ListedColumn[] = [];
  list = listed;
  const described = describe(columns);
  list = null;
  return { listed, described };
};

/** Reads the columns of this row. A description must ask for all of them before the next row is read. */
export const readFrom = (row: readonly unknown[]): Columns => {
  values = row;
  position = 0;
  return columns;
};

/** Rows travel as one JSON text where there may be many: one value at a time, the way out of the driver is slow. */
export const parseRows = (text: unknown): unknown[][] => JSON.parse(text as string) as unknown[][];

export interface Row<T> {
  /** What to select. */
  readonly columns: string;
  all(db: SqliteConnection, sql: string, parameters: readonly SqliteValue[]): T[];
  first(db: SqliteConnection, sql: string, parameters: readonly SqliteValue[]): T | undefined;
  /** What to select for `allOfText`. */
  readonly text: string;
  allOfText(db: SqliteConnection, sql: string, parameters: readonly SqliteValue[]): T[];
}

export const defineRow = <T extends object>(describe: (columns: Columns) => T): Row<T> => {
  const columns = listColumns(describe)
    .listed.map(({ sql }) => sql)
    .join(", ");
  const read = (row: readonly unknown[]): T => describe(readFrom(row));
  return {
    columns,
    text: `json_group_array(json_array(${columns}))`,
    all: (db, sql, parameters) => db.query(sql, parameters).map(read),
    first: (db, sql, parameters) => {
      const row = db.first(sql, parameters);
      return row === undefined ? undefined : read(row);
    },
    allOfText: (db, sql, parameters) => parseRows(db.first(sql, parameters)?.[0]).map(read),
  };
};

/** The only column of every row. */
export const allTexts = (db: SqliteConnection, sql: string, parameters: readonly SqliteValue[]): string[] =>
  db.query(sql, parameters).map(([value]) => value as string);

/** The only column of the first row, if there is one. */
export const firstText = (
  db: SqliteConnection,
  sql: string,
  parameters: readonly SqliteValue[],
): string | undefined => db.first(sql, parameters)?.[0] as string | undefined;

/** The same, for a column with numbers. */
export const firstNumber = (
  db: SqliteConnection,
  sql: string,
  parameters: readonly SqliteValue[],
): number | undefined => db.first(sql, parameters)?.[0] as number | undefined;
