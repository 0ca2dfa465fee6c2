import { Double, Long } from "bson";
import { CommandError } from "../errors.ts";
import { arithmetic, isNumeric, toNumber } from "../bson-values/numbers.ts";
import { isNullish, toBsonNumber, typeOf } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import { binary, unary, variadic, withArguments } from "./arguments.ts";
import type { OperatorTable } from "./scope.ts";

const wrongType = (name: string, value: Value): CommandError =>
  new CommandError("TypeMismatch", `${name} only supports numeric types, not ${typeOf(value)}`);

const requireNumber = (name: string, value: Value): Value => {
  if (!isNumeric(value)) throw wrongType(name, value);
  return value;
};

const add = (values: Value[]): Value => {
  if (values.some(isNullish)) return null;
  const dates = values.filter((value) => value instanceof Date);
  if (dates.length > 1) throw new CommandError(16612, "only one date allowed in an $add expression");
  const numbers = values.filter((value) => !(value instanceof Date));
  const sum = numbers.reduce(
    (total, value) => arithmetic("add", total, requireNumber("$add", value)),
    toBsonNumber(0),
  );
  const [date] = dates;
  return date === undefined ? sum : new Date(date.getTime() + Math.round(toNumber(sum)));
};

const subtract = (a: Value, b: Value): Value => {
  if (isNullish(a) || isNullish(b)) return null;
  if (a instanceof Date) {
    if (b instanceof Date) return Long.fromNumber(a.getTime() - b.getTime());
    return new Date(a.getTime() - Math.round(toNumber(requireNumber("$subtract", b))));
  }
  return arithmetic("subtract", requireNumber("$subtract", a), requireNumber("$subtract", b));
};

const divide = (a: Value, b: Value): Value => {
  if (isNullish(a) || isNullish(b)) return null;
  const divisor = toNumber(requireNumber("$divide", b));
  if (divisor === 0) throw new CommandError("BadValue", "can't $divide by zero");
  return new Double(toNumber(requireNumber("$divide", a)) / divisor);
};

/** Of the wider of both types; never an int when one of them is a double. */
const sameType = (result: number, ...operands: Value[]): Value => {
  if (operands.some((operand) => typeOf(operand) === "double")) return new Double(result);
  if (operands.some((operand) => typeOf(operand) === "long")) return Long.fromNumber(result);
  return toBsonNumber(result);
};

const mod = (a: Value, b: Value): Value => {
  if (isNullish(a) || isNullish(b)) return null;
  const divisor = toNumber(requireNumber("$mod", b));
  if (divisor === 0) throw new CommandError(16610, "can't $mod by zero");
  return sameType(toNumber(requireNumber("$mod", a)) % divisor, a, b);
};

const rounding = (name: string, round: (value: number) => number) =>
  unary(name, (value) =>
    isNullish(value) ? null : sameType(round(toNumber(requireNumber(name, value))), value),
  );

/** Halves go to the even neighbour. */
const roundHalfEven = (value: number): number => {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
};

const toPlaces = (name: string, round: (value: number) => number) =>
  withArguments(name, [1, 2], ([value, places]) => {
    if (isNullish(value)) return null;
    const scale = 10 ** (places === undefined ? 0 : toNumber(places));
    return sameType(round(toNumber(requireNumber(name, value)) * scale) / scale, value);
  });

export const arithmeticOperators: OperatorTable = {
  $add: variadic("$add", add),
  $subtract: binary("$subtract", subtract),
  $multiply: variadic("$multiply", (values) =>
    values.some(isNullish)
      ? null
      : values.reduce((a, b) => arithmetic("multiply", a, requireNumber("$multiply", b)), toBsonNumber(1)),
  ),
  $divide: binary("$divide", divide),
  $mod: binary("$mod", mod),
  $abs: rounding("$abs", Math.abs),
  $ceil: rounding("$ceil", Math.ceil),
  $floor: rounding("$floor", Math.floor),
  $round: toPlaces("$round", roundHalfEven),
  $trunc: toPlaces("$trunc", Math.trunc),
  $sqrt: unary("$sqrt", (value) => (isNullish(value) ? null : new Double(Math.sqrt(toNumber(value))))),
  $pow: binary("$pow", (a, b) =>
    isNullish(a) || isNullish(b) ? null : sameType(toNumber(a) ** toNumber(b), a, b),
  ),
  $rand: variadic("$rand", () => new Double(Math.random())),
};
