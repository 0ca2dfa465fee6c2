import { BSONRegExp, BSONSymbol, Code } from "bson";
import type { Binary, ObjectId, Timestamp } from "bson";
import { compareNumbers } from "./numbers.ts";
import { typeOf } from "./types.ts";
import type { Document, TypeName, Value } from "./types.ts";

/** The order of types: values of different types compare by it alone. */
const ranks: Record<TypeName, number> = {
  minKey: -1,
  missing: 0,
  undefined: 0,
  null: 5,
  int: 10,
  long: 10,
  double: 10,
  decimal: 10,
  string: 15,
  symbol: 15,
  object: 20,
  array: 25,
  binData: 30,
  objectId: 35,
  bool: 40,
  date: 45,
  timestamp: 47,
  regex: 50,
  dbPointer: 55,
  javascript: 60,
  javascriptWithScope: 65,
  maxKey: 127,
};

export const typeRank = (value: Value): number => ranks[typeOf(value)];

const sign = (difference: number): number => (difference === 0 ? 0 : difference < 0 ? -1 : 1);

/** In the order of code points, as bytes of UTF-8 compare; JavaScript alone would sort surrogates too early. */
export const compareStrings = (a: string, b: string): number => {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const xIsSurrogate = x >= 0xd800 && x <= 0xdfff;
    const yIsSurrogate = y >= 0xd800 && y <= 0xdfff;
    if (xIsSurrogate !== yIsSurrogate) {
      if (xIsSurrogate && y > 0xdfff) return 1;
      if (yIsSurrogate && x > 0xdfff) return -1;
    }
    return x < y ? -1 : 1;
  }
  return sign(a.length - b.length);
};

const compareArrays = (a: readonly Value[], b: readonly Value[]): number => {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compareValues(a[i] ?? null, b[i] ?? null);
    if (order !== 0) return order;
  }
  return sign(a.length - b.length);
};

const compareDocuments = (a: Document, b: Document): number => {
  const left = Object.entries(a);
  const right = Object.entries(b);
  for (let i = 0; i < left.length && i < right.length; i++) {
    const [name, value] = left[i] ?? ["", null];
    const [otherName, otherValue] = right[i] ?? ["", null];
    const order =
      sign(typeRank(value) - typeRank(otherValue)) ||
      compareStrings(name, otherName) ||
      compareValues(value, otherValue);
    if (order !== 0) return order;
  }
  return sign(left.length - right.length);
};

const compareBinaries = (a: Binary, b: Binary): number =>
  sign(a.length() - b.length()) || sign(a.sub_type - b.sub_type) || Buffer.compare(a.value(), b.value());

const textOf = (value: Value): string => {
  if (value instanceof BSONSymbol) return value.value;
  if (value instanceof BSONRegExp) return `${value.pattern}/${value.options}`;
  if (value instanceof RegExp) return `${value.source}/${value.flags}`;
  if (value instanceof Code) return value.code;
  return String(value);
};

/** The order of the server's indexes and sorts. */
export const compareValues = (a: Value, b: Value): number => {
  if (typeof a === "string" && typeof b === "string") return compareStrings(a, b);
  if (a instanceof Date && b instanceof Date) return sign(a.getTime() - b.getTime());
  const rank = typeRank(a);
  const difference = rank - typeRank(b);
  if (difference !== 0) return sign(difference);
  switch (rank) {
    case ranks.int:
      return compareNumbers(a, b);
    case ranks.object:
      return compareDocuments(a as Document, b as Document);
    case ranks.array:
      return compareArrays(a as Value[], b as Value[]);
    case ranks.binData:
      return compareBinaries(a as Binary, b as Binary);
    case ranks.objectId:
      return Buffer.compare((a as ObjectId).id, (b as ObjectId).id);
    case ranks.bool:
      return Number(a) - Number(b);
    case ranks.timestamp:
      return (a as Timestamp).compare(b as Timestamp);
    case ranks.string:
    case ranks.regex:
    case ranks.javascript:
      return compareStrings(textOf(a), textOf(b));
    default:
      return 0;
  }
};

export const equalValues = (a: Value, b: Value): boolean => compareValues(a, b) === 0;
