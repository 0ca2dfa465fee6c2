import { Decimal128, Double, Int32, Long } from "bson";
import { CommandError } from "../errors.ts";
import { typeOf } from "./types.ts";
import type { Value } from "./types.ts";

export const isNumeric = (value: Value): boolean => {
  const type = typeOf(value);
  return type === "int" || type === "long" || type === "double" || type === "decimal";
};

/** Exact up to 2^53; beyond that `compareNumbers` looks at the integers themselves. */
export const toNumber = (value: Value): number => {
  if (typeof value === "number") return value;
  if (value instanceof Int32 || value instanceof Double) return value.value;
  if (value instanceof Long) return value.toNumber();
  if (value instanceof Decimal128) return Number(value.toString());
  return Number(value);
};

const integerOf = (value: Value): bigint | undefined => {
  if (value instanceof Long) return value.toBigInt();
  if (typeof value === "bigint") return value;
  const number = toNumber(value);
  return Number.isInteger(number) ? BigInt(number) : undefined;
};

/** NaN is smaller than every other number and equal to itself. */
export const compareNumbers = (a: Value, b: Value): number => {
  const x = toNumber(a);
  const y = toNumber(b);
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(y)) - Number(Number.isNaN(x));
  if (x !== y) return x < y ? -1 : 1;
  if (Number.isSafeInteger(x) || !Number.isInteger(x)) return 0;
  const p = integerOf(a);
  const q = integerOf(b);
  if (p === undefined || q === undefined || p === q) return 0;
  return p < q ? -1 : 1;
};

/** The same text for numbers that are equal, whatever their types. */
export const numberKey = (value: Value): string => {
  const integer = integerOf(value);
  return integer === undefined ? String(toNumber(value)) : String(integer);
};

const maxLong = 2n ** 63n - 1n;
const minLong = -(2n ** 63n);

const fromInteger = (value: bigint, atLeast: "int" | "long", onOverflow: () => Value): Value => {
  if (atLeast === "int" && value >= -(2n ** 31n) && value < 2n ** 31n) return new Int32(Number(value));
  if (value >= minLong && value <= maxLong) return Long.fromBigInt(value);
  return onOverflow();
};

type Operation = "add" | "subtract" | "multiply";

const onIntegers: Record<Operation, (a: bigint, b: bigint) => bigint> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
};
const onDoubles: Record<Operation, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
};

/** int with int is an int while it fits, then a long; with a double it is a double. A long that overflows: `overflow`. */
export const arithmetic = (
  operation: Operation,
  a: Value,
  b: Value,
  overflow: "double" | "error" = "double",
): Value => {
  const types = new Set([typeOf(a), typeOf(b)]);
  if (types.has("decimal")) {
    throw new CommandError("NotImplemented", "this test server does no arithmetic with decimals");
  }
  const inDoubles = () => new Double(onDoubles[operation](toNumber(a), toNumber(b)));
  if (types.has("double")) return inDoubles();
  const x = integerOf(a);
  const y = integerOf(b);
  if (x === undefined || y === undefined) return inDoubles();
  return fromInteger(onIntegers[operation](x, y), types.has("long") ? "long" : "int", () => {
    if (overflow === "double") return inDoubles();
    throw new CommandError(
      "BadValue",
      `Failed to apply ${operation} operations to current value: the long overflows`,
    );
  });
};
