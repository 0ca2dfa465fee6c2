import { Double, Int32, Long } from "bson";

/** A value as `bson` decodes it with its number types kept; `undefined` is a field that is not there. */
export type Value = unknown;

export interface Document {
  [field: string]: Value;
}

export type TypeName =
  | "missing"
  | "minKey"
  | "null"
  | "undefined"
  | "int"
  | "long"
  | "double"
  | "decimal"
  | "string"
  | "symbol"
  | "object"
  | "array"
  | "binData"
  | "objectId"
  | "bool"
  | "date"
  | "timestamp"
  | "regex"
  | "dbPointer"
  | "javascript"
  | "javascriptWithScope"
  | "maxKey";

const typeOfBsonClass: Record<string, TypeName> = {
  Int32: "int",
  Long: "long",
  Double: "double",
  Decimal128: "decimal",
  ObjectId: "objectId",
  Binary: "binData",
  Timestamp: "timestamp",
  BSONRegExp: "regex",
  BSONSymbol: "symbol",
  Code: "javascript",
  DBRef: "object",
  MinKey: "minKey",
  MaxKey: "maxKey",
};

const typeOfObject = (value: object): TypeName => {
  if (Array.isArray(value)) return "array";
  if (value instanceof Date) return "date";
  if (value instanceof RegExp) return "regex";
  const bsonClass = (value as Document)["_bsontype"];
  return (typeof bsonClass === "string" ? typeOfBsonClass[bsonClass] : undefined) ?? "object";
};

export const typeOf = (value: Value): TypeName => {
  switch (typeof value) {
    case "undefined":
      return "missing";
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "number":
      return Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? "int" : "double";
    case "bigint":
      return "long";
    case "object":
      return value === null ? "null" : typeOfObject(value);
    default:
      throw new TypeError(`not a BSON value: ${typeof value}`);
  }
};

export const isDocument = (value: Value): value is Document =>
  typeof value === "object" && value !== null && typeOfObject(value) === "object";

export const isNullish = (value: Value): value is null | undefined => value === null || value === undefined;

/** The own field of a document: a field named `constructor` is not there unless somebody wrote it. */
export const fieldOf = (document: Document, field: string): Value =>
  Object.hasOwn(document, field) ? document[field] : undefined;

/** Sets a field also when it is called `__proto__`. */
export const setField = (document: Document, field: string, value: Value): void => {
  if (field === "__proto__") {
    Object.defineProperty(document, field, { value, enumerable: true, configurable: true, writable: true });
  } else {
    document[field] = value;
  }
};

/** A JavaScript number as the server would store it: int, long or double. */
export const toBsonNumber = (value: number): Int32 | Long | Double => {
  if (!Number.isInteger(value)) return new Double(value);
  if (value >= -(2 ** 31) && value < 2 ** 31) return new Int32(value);
  return Number.isSafeInteger(value) ? Long.fromNumber(value) : new Double(value);
};
