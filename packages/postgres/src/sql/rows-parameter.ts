import { arrayLiteral, plainArrayLiteral } from "./array-literal.ts";
import type { SqlStatement } from "../provider.ts";

type Value = SqlStatement["params"][number];

/** A column of rows that travel to a statement as parameters. */
export interface RowsColumn<TRow> {
  readonly name: string;
  readonly type: string;
  readonly read: (row: TRow) => Value;
  /** Never null. If all rows have the same value, it then travels once. */
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

// The lists are unnested together. A list that is shorter than the others is filled up with nulls.
const listOf = <TRow>(rows: readonly TRow[], { read, type, required }: RowsColumn<TRow>): string => {
  const literal = plainTypes.has(type) ? plainArrayLiteral : arrayLiteral;
  const first = read(rows[0]!);
  if ((first === null || required) && rows.every((row) => read(row) === first))
    return first === null ? "{}" : literal([first]);
  return literal(rows.map(read));
};

const createRowsParameter = <TRow>(columns: readonly RowsColumn<TRow>[]): RowsParameter<TRow> => ({
  source: (alias, first, single) => {
    const place = (index: number): number => first + index;
    if (single) {
      const values = columns.map(({ name, type }, index) => `$${place(index)}::${type} AS ${name}`);
      return `(SELECT ${values.join(", ")}) AS ${alias}`;
    }
    // The planner knows the length of a list that is a parameter. For a long list, or a table that was small when the plan
    // was made, it would read the whole table of jobs, in any order. Behind a subquery it does not see the list and expects
    // ten rows, and with a limit that it does not know, one: it then goes by the index, row by row, in the order given.
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
    rows.length === 1
      ? columns.map(({ read }) => read(rows[0]!))
      : columns.map((column) => listOf(rows, column)),
});

/** Rows with ids in them, by the SQL type of those. */
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
