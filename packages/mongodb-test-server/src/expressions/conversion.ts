import { Double, Int32, Long, ObjectId } from "bson";
import { CommandError } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import { isNullish, typeOf } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import { unary } from "./arguments.ts";
import { isTrue } from "./scope.ts";
import type { OperatorCompiler, OperatorTable } from "./scope.ts";

const failure = (from: Value, to: string): CommandError =>
  new CommandError("ConversionFailure", `Unsupported conversion from ${typeOf(from)} to ${to} in $convert`);

export const textOf = (value: Value): string => {
  if (typeof value === "string") return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof ObjectId) return value.toHexString();
  if (isNumeric(value) || typeof value === "boolean") return String(value);
  throw failure(value, "string");
};

const numberOf = (value: Value, to: string): number => {
  if (isNumeric(value)) return toNumber(value);
  if (typeof value === "boolean") return Number(value);
  if (value instanceof Date && to !== "int") return value.getTime();
  if (typeof value === "string" && value.trim() !== "" && !Number.isNaN(Number(value))) return Number(value);
  throw failure(value, to);
};

const intOf = (value: Value): Value => {
  const number = Math.trunc(numberOf(value, "int"));
  if (number < -(2 ** 31) || number >= 2 ** 31) throw failure(value, "int");
  return new Int32(number);
};

const dateOf = (value: Value): Value => {
  if (value instanceof Date) return value;
  if (value instanceof ObjectId) return value.getTimestamp();
  const time =
    typeof value === "string" ? Date.parse(value) : isNumeric(value) ? toNumber(value) : Number.NaN;
  if (Number.isNaN(time)) throw failure(value, "date");
  return new Date(time);
};

const convert = (name: string, evaluate: (value: Value) => Value): OperatorCompiler =>
  unary(name, (value) => (isNullish(value) ? null : evaluate(value)));

export const conversionOperators: OperatorTable = {
  $type: unary("$type", (value) => typeOf(value)),
  $isNumber: unary("$isNumber", (value) => isNumeric(value)),
  $toString: convert("$toString", textOf),
  $toBool: convert("$toBool", isTrue),
  $toInt: convert("$toInt", intOf),
  $toLong: convert("$toLong", (value) =>
    value instanceof Long ? value : Long.fromNumber(Math.trunc(numberOf(value, "long"))),
  ),
  $toDouble: convert("$toDouble", (value) => new Double(numberOf(value, "double"))),
  $toDate: convert("$toDate", dateOf),
};
