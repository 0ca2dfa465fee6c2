// A list is passed as a PostgreSQL array literal in one text parameter. Every driver passes on a text as it is, and a parameter
// per column costs the server far less than one per value.

const needsQuotes = /["\\{},\s]|^$|^null$/i;
const escaped = /["\\]/g;
// oxlint-disable-next-line no-control-regex -- these are what JSON escapes and array literals do not
const unlikeJson = /[\u0000-\u001f\ud800-\udfff]/;

const element = (value: string | number | boolean | null): string => {
  if (value === null) return "NULL";
  if (typeof value !== "string") return String(value);
  if (!needsQuotes.test(value)) return value;
  // For a text without such characters JSON has the same quotes, and JSON.stringify is several times as fast.
  return unlikeJson.test(value) ? `"${value.replace(escaped, "\\$&")}"` : JSON.stringify(value);
};

/** For values that never need quotes: numbers, booleans, UUIDs. */
export const plainArrayLiteral = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map((value) => value ?? "NULL").join(",")}}`;

export const arrayLiteral = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map(element).join(",")}}`;

/**
 * Rows from array parameters, `["$2::uuid[]", …]`. The planner knows the length of an array that is a parameter; for a long
 * one, or a small table, it would read the whole table, in any order. Behind a subquery it does not see the array and expects
 * few rows: it then goes by the index, row by row, in the order given.
 */
export const unnestParameters = (parameters: readonly string[]): string =>
  `unnest(${parameters.map((parameter) => `(SELECT ${parameter})`).join(", ")})`;
