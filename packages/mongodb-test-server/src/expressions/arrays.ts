import { Int32 } from "bson";
import { CommandError } from "../errors.ts";
import { compareValues, equalValues } from "../bson-values/compare.ts";
import { toNumber } from "../bson-values/numbers.ts";
import { isNullish, toBsonNumber, typeOf } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { binary, namedParts, unary, variadic, withArguments } from "./arguments.ts";
import { createSortOrder } from "../query/sort-order.ts";
import type { OperatorTable } from "./scope.ts";

export const requireArray = (name: string, value: Value): Value[] => {
  if (Array.isArray(value)) return value;
  throw new CommandError(
    28_664,
    `The argument to ${name} must be an array, but was of type: ${typeOf(value)}`,
  );
};

const elementAt = (name: string, value: Value, index: number): Value => {
  if (isNullish(value)) return null;
  return requireArray(name, value).at(index);
};

const slice = ([value, first, count]: Value[]): Value => {
  if (isNullish(value) || isNullish(first)) return null;
  const array = requireArray("$slice", value);
  if (count === undefined) {
    const n = toNumber(first);
    return n >= 0 ? array.slice(0, n) : array.slice(n);
  }
  const position = toNumber(first);
  const start = position >= 0 ? position : Math.max(0, array.length + position);
  return array.slice(start, start + toNumber(count));
};

const range = ([start, end, step]: Value[]): Value => {
  const by = step === undefined ? 1 : toNumber(step);
  if (by === 0) throw new CommandError(34449, "$range requires a non-zero step value");
  const result: Value[] = [];
  const last = toNumber(end);
  for (let i = toNumber(start); by > 0 ? i < last : i > last; i += by) result.push(toBsonNumber(i));
  return result;
};

export const arrayOperators: OperatorTable = {
  $size: unary("$size", (value) => {
    if (Array.isArray(value)) return new Int32(value.length);
    throw new CommandError(
      17124,
      `The argument to $size must be an array, but was of type: ${typeOf(value)}`,
    );
  }),
  $isArray: unary("$isArray", (value) => Array.isArray(value)),
  $arrayElemAt: binary("$arrayElemAt", (array, index) =>
    isNullish(index) ? null : elementAt("$arrayElemAt", array, toNumber(index)),
  ),
  $first: unary("$first", (value) => elementAt("$first", value, 0)),
  $last: unary("$last", (value) => elementAt("$last", value, -1)),
  $concatArrays: variadic("$concatArrays", (values) =>
    values.some(isNullish) ? null : values.flatMap((value) => requireArray("$concatArrays", value)),
  ),
  $in: binary("$in", (value, array) => {
    if (!Array.isArray(array)) {
      throw new CommandError(40081, `$in requires an array as a second argument, found: ${typeOf(array)}`);
    }
    return array.some((element) => equalValues(element, value));
  }),
  $indexOfArray: binary("$indexOfArray", (array, value) =>
    isNullish(array)
      ? null
      : new Int32(requireArray("$indexOfArray", array).findIndex((element) => equalValues(element, value))),
  ),
  $slice: withArguments("$slice", [2, 3], slice),
  $range: withArguments("$range", [2, 3], range),
  $reverseArray: unary("$reverseArray", (value) =>
    isNullish(value) ? null : requireArray("$reverseArray", value).toReversed(),
  ),
  $sortArray: (argument, compile) => {
    const { input, sortBy } = namedParts("$sortArray", argument, ["input", "sortBy"]);
    const evaluate = compile(input);
    const order =
      typeOf(sortBy) === "object"
        ? createSortOrder(sortBy as Document).compare
        : (a: Value, b: Value) => Math.sign(toNumber(sortBy)) * compareValues(a, b);
    return (scope) => {
      const value = evaluate(scope);
      return isNullish(value) ? null : requireArray("$sortArray", value).toSorted(order);
    };
  },
};
