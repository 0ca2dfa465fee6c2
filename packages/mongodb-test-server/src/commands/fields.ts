import { CommandError, notImplemented } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import { isDocument, isNullish, typeOf } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import type { CommandContext } from "./command.ts";

/** Fields that any command may have. */
const general = new Set([
  "$db",
  "$clusterTime",
  "$readPreference",
  "$audit",
  "$client",
  "lsid",
  "txnNumber",
  "autocommit",
  "startTransaction",
  "stmtId",
  "stmtIds",
  "readConcern",
  "writeConcern",
  "maxTimeMS",
  "comment",
  "apiVersion",
  "apiStrict",
  "apiDeprecationErrors",
]);

export const checkFields = (name: string, command: Document, known: readonly string[]): void => {
  for (const field of Object.keys(command)) {
    if (field === name || general.has(field) || known.includes(field)) continue;
    throw new CommandError(40415, `BSON field '${name}.${field}' is an unknown field.`);
  }
};

export const documentField = (source: Document, field: string): Document | undefined => {
  const value = source[field];
  if (isNullish(value)) return undefined;
  if (isDocument(value)) return value;
  throw new CommandError(
    "TypeMismatch",
    `BSON field '${field}' is the wrong type '${typeOf(value)}', expected type 'object'`,
  );
};

export const requiredDocument = (source: Document, field: string): Document => {
  const value = documentField(source, field);
  if (value === undefined)
    throw new CommandError(40414, `BSON field '${field}' is missing but a required field`);
  return value;
};

export const listField = (source: Document, field: string): Value[] => {
  const value = source[field];
  if (Array.isArray(value)) return value;
  throw new CommandError(
    "TypeMismatch",
    `BSON field '${field}' is the wrong type '${typeOf(value)}', expected type 'array'`,
  );
};

export const documentList = (source: Document, field: string): Document[] =>
  listField(source, field).map((item) => {
    if (isDocument(item)) return item;
    throw new CommandError(
      "TypeMismatch",
      `BSON field '${field}' holds a '${typeOf(item)}', expected type 'object'`,
    );
  });

export const numberField = (source: Document, field: string): number | undefined => {
  const value = source[field];
  if (isNullish(value)) return undefined;
  if (!isNumeric(value)) {
    throw new CommandError(
      "TypeMismatch",
      `BSON field '${field}' is the wrong type '${typeOf(value)}', expected a number`,
    );
  }
  const number = toNumber(value);
  if (number < 0)
    throw new CommandError(51024, `BSON field '${field}' value must be >= 0, actual value '${number}'`);
  return number;
};

export const flagField = (source: Document, field: string): boolean => {
  const value = source[field];
  return value === true || (isNumeric(value) && toNumber(value) !== 0);
};

/** Only the binary order of strings is known here. */
export const checkCollation = (source: Document): void => {
  const collation = documentField(source, "collation");
  if (collation !== undefined && collation["locale"] !== "simple") throw notImplemented("collations");
};

export const collectionName = ({ name, target }: CommandContext): string => {
  if (typeof target === "string" && target !== "") return target;
  throw new CommandError(
    "InvalidNamespace",
    `collection name has invalid type ${typeOf(target)} for ${name}`,
  );
};
