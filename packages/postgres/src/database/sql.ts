import { InvalidOptionError, type JobStatus } from "leasehold/adapter";
import type { SqlStatement } from "./provider.ts";

// A list is one text parameter with a PostgreSQL array literal. Every driver passes a text unchanged, and a parameter per column
// costs the server far less than one per value.

const needsQuotes = /["\\{},\s]|^$|^null$/i;

const escaped = /["\\]/g;
// oxlint-disable-next-line no-control-regex -- these are what JSON escapes and array literals do not
const unlikeJson = /[\u0000-\u001f\ud800-\udfff]/;

const element = (value: string | number | boolean | null): string => {
  if (value === null) return "NULL";
  if (typeof value !== "string") return String(value);
  if (!needsQuotes.test(value)) return value;
  // For a text without such characters JSON is quoted alike, and JSON.stringify is several times faster.
  return unlikeJson.test(value) ? `"${value.replace(escaped, "\\$&")}"` : JSON.stringify(value);
};

/** For values that never need quotes: numbers, booleans, UUIDs. */
export const plainArrayLiteral = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map((value) => value ?? "NULL").join(",")}}`;

export const arrayLiteral = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map(element).join(",")}}`;

/**
 * Rows from array parameters, `["$2::uuid[]", …]`. From the length of an array parameter the planner concludes, for a long
 * array or a small table, that it should read the whole table, in any order. For an array from a subquery it expects ten rows,
 * and goes by the index, row by row, in the given order.
 */
export const unnestParameters = (parameters: readonly string[]): string =>
  `unnest(${parameters.map((parameter) => `(SELECT ${parameter})`).join(", ")})`;

/** The present in milliseconds: this parameter if it is not null, or else the clock of the server. */
export const nowSql = (parameter: string): string =>
  `coalesce(${parameter}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;

/** The first `WITH` query of a statement, so that all of it has the same present. */
export const clockCte = (parameter: string): string =>
  `clock AS MATERIALIZED (SELECT ${nowSql(parameter)} AS now)`;

export const now = "(SELECT now FROM clock)";

const identifierPattern = /^[a-z_][a-z0-9_]{0,30}$/;

const idTypePattern = /^[a-z][a-z0-9_]{0,30}(\([0-9]{1,4}\))?$/;

/** Quotes a name for SQL. Only short and plain names are allowed, which need no escapes. */
export const quoteIdentifier = (value: unknown, option: string): string => {
  if (typeof value !== "string" || !identifierPattern.test(value)) {
    throw new InvalidOptionError(
      option,
      "must be a lower-case name of letters, digits and underscores, at most 31 characters",
      value,
    );
  }
  return `"${value}"`;
};

/** An SQL type such as `uuid`, `text` or `varchar(64)`. */
export const checkIdType = (value: unknown): string => {
  if (typeof value !== "string" || !idTypePattern.test(value)) {
    throw new InvalidOptionError(
      "idType",
      'must be the name of an SQL type, such as "uuid" or "text"',
      value,
    );
  }
  return value;
};

/** An SQL expression, used as it is: it comes from the program, never from its users. */
export const checkIdDefault = (value: unknown): string => {
  if (typeof value !== "string" || value.trim() === "" || value.includes(";") || value.includes("\0")) {
    throw new InvalidOptionError(
      "idDefault",
      'must be an SQL expression, such as "gen_random_uuid()"',
      value,
    );
  }
  return value;
};

// Drivers return the same value in different forms: a 64-bit integer, for instance, as text, as number or as bigint.

export const isNull = (value: unknown): value is null | undefined => value === null || value === undefined;

export const text = (value: unknown): string => (typeof value === "string" ? value : String(value));

export const textOrNull = (value: unknown): string | null => (isNull(value) ? null : text(value));

export const numberOrNull = (value: unknown): number | null => (isNull(value) ? null : Number(value));

/** The type of the column allows nothing else. */
export const jobStatus = (value: unknown): JobStatus => value as JobStatus;

/** A list that a statement returns as JSON: drivers do not agree on how to read an array. */
export const textList = (value: unknown): string[] => JSON.parse(text(value)) as string[];

type Value = SqlStatement["params"][number];

/** The properties that can travel as they are, of any member of a union. */
type StorableProperty<TRow> = TRow extends unknown
  ? { [TKey in keyof TRow]-?: TRow[TKey] extends Value | undefined ? TKey : never }[keyof TRow]
  : never;

/** A column of rows that travel to a statement as parameters. */
export interface RowsColumn<TRow> {
  readonly name: string;
  readonly type: string;
  /** The property with the value, null where a row does not have it; or a function of the row. */
  readonly read: StorableProperty<TRow> | ((row: TRow) => Value);
  /** Never null. A value that all rows share travels once. */
  readonly required?: boolean;
}

/**
 * Rows as a table in a statement, with one parameter per column: a list for many rows, a plain value for a single row, which
 * the server plans and reads faster. These are two statements, so they need two names.
 */
export interface RowsParameter<TRow> {
  /** The table, under this alias. Its parameters begin with `$first`. */
  readonly source: (alias: string, first: number, single: boolean) => string;
  readonly params: (rows: readonly TRow[]) => Value[];
  /** The names of the columns. */
  readonly columns: readonly string[];
}

const plainTypes = new Set(["uuid", "bigint", "int", "boolean"]);

const valueIn = <TRow>(row: TRow, { read }: RowsColumn<TRow>): Value =>
  // `StorableProperty` guarantees the type.
  typeof read === "function" ? read(row) : ((row[read as keyof TRow] as Value | undefined) ?? null);

// The lists are unnested together: nulls fill up the shorter ones.
const listOf = <TRow>(rows: readonly TRow[], column: RowsColumn<TRow>): string => {
  const literal = plainTypes.has(column.type) ? plainArrayLiteral : arrayLiteral;
  const first = valueIn(rows[0]!, column);
  if ((first === null || column.required) && rows.every((row) => valueIn(row, column) === first))
    return first === null ? "{}" : literal([first]);
  return literal(rows.map((row) => valueIn(row, column)));
};

const createRowsParameter = <TRow>(columns: readonly RowsColumn<TRow>[]): RowsParameter<TRow> => ({
  source: (alias, first, single) => {
    const place = (index: number): number => first + index;
    if (single) {
      const values = columns.map(({ name, type }, index) => `$${place(index)}::${type} AS ${name}`);
      return `(SELECT ${values.join(", ")}) AS ${alias}`;
    }
    // As in `unnestParameters`; for a limit from a subquery the planner expects one row instead of ten.
    const lists = columns.map(({ type }, index) => `(SELECT $${place(index)}::${type}[])`);
    const values = columns.map(({ name, required }, index) =>
      required
        ? `coalesce(t.${name}, ($${place(index)}::${columns[index]!.type}[])[1]) AS ${name}`
        : `t.${name}`,
    );
    return `(SELECT ${values.join(", ")} FROM unnest(${lists.join(", ")}) AS t (${columns
      .map(({ name }) => name)
      .join(", ")}) LIMIT (SELECT 2147483647)) AS ${alias}`;
  },
  columns: columns.map(({ name }) => name),
  params: (rows) =>
    columns.map((column) => (rows.length === 1 ? valueIn(rows[0]!, column) : listOf(rows, column))),
});

/** Rows with ids, by the SQL type of ids. */
export const defineRows = <TRow>(
  columnsFor: (idType: string) => readonly RowsColumn<TRow>[],
): ((idType: string) => RowsParameter<TRow>) => {
  const known = new Map<string, RowsParameter<TRow>>();
  return (idType) => {
    const rows = known.get(idType) ?? createRowsParameter(columnsFor(idType));
    known.set(idType, rows);
    return rows;
  };
};
