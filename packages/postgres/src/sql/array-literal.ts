// Lists travel as PostgreSQL array literals in one text parameter: every driver passes a text on unchanged, and one
// parameter per column costs the server far less than one per row.

const needsQuotes = /["\\{},\s]|^$|^null$/i;
const escaped = /["\\]/g;
// oxlint-disable-next-line no-control-regex -- these are what JSON escapes and array literals do not
const unlikeJson = /[\u0000-\u001f\ud800-\udfff]/;

const element = (value: string | number | boolean | null): string => {
  if (value === null) return "NULL";
  if (typeof value !== "string") return String(value);
  if (!needsQuotes.test(value)) return value;
  // Both quote alike what has no such characters, and JSON.stringify is several times as fast.
  return unlikeJson.test(value) ? `"${value.replace(escaped, "\\$&")}"` : JSON.stringify(value);
};

/** For values that never need quotes: numbers, booleans, UUIDs. */
export const plainArrayLiteral = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map((value) => value ?? "NULL").join(",")}}`;

export const arrayLiteral = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map(element).join(",")}}`;

/**
 * A set of rows from array parameters, `["$2::uuid[]", …]`. Behind a subquery the planner does not see how many there are
 * and takes them for few: it then meets the table row by row through its index, in the order given, however small the
 * table is or however long the list.
 */
export const unnestParameters = (parameters: readonly string[]): string =>
  `unnest(${parameters.map((parameter) => `(SELECT ${parameter})`).join(", ")})`;
