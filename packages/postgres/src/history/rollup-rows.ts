import type { Rollup, RollupKey } from "leasehold/adapter";
import type { SqlRow } from "../provider.ts";
import { arrayLiteral, unnestParameters } from "../sql/array-literal.ts";
import { text } from "../sql/row-values.ts";

interface RollupColumn<TRow> {
  readonly name: string;
  readonly type: "bigint" | "text";
  readonly read: (rollup: TRow) => string | number;
}

const keyColumns: readonly RollupColumn<RollupKey>[] = [
  { name: "width", type: "bigint", read: ({ width }) => width },
  { name: "begins_at", type: "bigint", read: ({ from }) => from },
  { name: "queue", type: "text", read: ({ queue }) => queue },
  { name: "type_name", type: "text", read: ({ typeName }) => typeName },
  { name: "deployment", type: "text", read: ({ deployment }) => deployment },
  { name: "reporter_id", type: "text", read: ({ reporterId }) => reporterId },
];
const columns: readonly RollupColumn<Rollup>[] = [
  ...keyColumns,
  { name: "counts", type: "text", read: ({ counts }) => counts },
];

/** The columns of the key, in the order of the index, of a table if one is given. */
export const rollupKey = (table?: string): string =>
  keyColumns.map(({ name }) => (table === undefined ? name : `${table}.${name}`)).join(", ");

export const rollupColumns: string = columns.map(({ name }) => name).join(", ");

/** The key as one text. */
export const rollupKeyOf = (rollup: RollupKey): string =>
  JSON.stringify(keyColumns.map(({ read }) => read(rollup)));

/** Whether the rows of two tables have the same key. */
export const sameRollupSql = (one: string, other: string): string =>
  keyColumns.map(({ name }) => `${one}.${name} = ${other}.${name}`).join(" AND ");

/** Rollups as a table in a statement, under this alias. Its parameters begin with `$first`. */
export const rollupSource = (alias: string, first: number): string =>
  `${unnestParameters(columns.map(({ type }, index) => `$${first + index}::${type}[]`))} AS ${alias} (${rollupColumns})`;

export const rollupParams = (rollups: readonly Rollup[]): string[] =>
  columns.map(({ read }) => arrayLiteral(rollups.map(read)));

export const toRollup = (row: SqlRow): Rollup => ({
  width: Number(row["width"]),
  from: Number(row["begins_at"]),
  queue: text(row["queue"]),
  typeName: text(row["type_name"]),
  deployment: text(row["deployment"]),
  reporterId: text(row["reporter_id"]),
  counts: text(row["counts"]),
});
