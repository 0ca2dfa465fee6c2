// Lists travel as PostgreSQL array literals in one text parameter: every driver passes a text on unchanged, and one
// parameter per column costs the server far less than one per row.

const needsQuotes = /["\\{},\s]|^$|^null$/i;
const escaped = /["\\]/g;

const element = (value: string | number | boolean | null): string => {
  if (value === null) return "NULL";
  if (typeof value !== "string") return String(value);
  if (!needsQuotes.test(value)) return value;
  return `"${value.replace(escaped, "\\$&")}"`;
};

export const arrayLiteral = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map(element).join(",")}}`;
