import type { SqliteValue } from "./connection/connection.ts";

/** Whether a column has one of the values of a list that may be left out. Takes the values of `optionalList`. */
export const isInOptionalList = (column: string): string =>
  `(? IS NULL OR ${column} IN (SELECT value FROM json_each(?)))`;

export const optionalList = (wanted: readonly string[] | undefined): SqliteValue[] => {
  const list = wanted === undefined ? null : JSON.stringify(wanted);
  return [list, list];
};
