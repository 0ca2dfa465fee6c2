import { arrayLiteral, plainArrayLiteral } from "./array-literal.ts";
import type { SqlStatement } from "../provider.ts";

type Value = SqlStatement["params"][number];

/** A column of rows that travel to a statement as parameters. */
export interface RowsColumn<TRow> {
  readonly name: string;
  readonly type: string;
  readonly read: (row: TRow) => Value;
  /** Never null: then the same value all the way down travels once. */
  readonly required?: boolean;
}

/**
 * Rows as a table in a statement, one parameter per column: lists for many rows, plain values for a single one, which
 * the server plans and reads a good deal faster. The statements differ, so their names must too.
 */
export interface RowsParameter<TRow> {
  /** What to select from, under this alias; the parameters begin with `$first`. */
  readonly source: (alias: string, first: number, single: boolean) => string;
  readonly params: (rows: readonly TRow[]) => Value[];
}

const plainTypes = new Set(["uuid", "bigint", "int", "boolean"]);

// The lists are unnested together; where one is shorter its rows are null.
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
    // Behind a subquery the planner does not see how many rows there are and takes them for ten, and with a limit it does
    // not know for one: it then meets the table row by row through its index, in the order given, however small the table
    // was when the plan was made, or however long the list is.
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
