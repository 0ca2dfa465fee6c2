import { Double, Int32 } from "bson";
import { compareValues } from "../bson-values/compare.ts";
import { arithmetic, isNumeric, toNumber } from "../bson-values/numbers.ts";
import { isNullish } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import { variadic } from "./arguments.ts";
import type { OperatorCompiler, OperatorTable } from "./scope.ts";

/** `$group` and expressions share these; null and missing values do not count. */
export const greatest = (values: readonly Value[]): Value => extreme(values, 1);
export const least = (values: readonly Value[]): Value => extreme(values, -1);

const extreme = (values: readonly Value[], direction: 1 | -1): Value => {
  let best: Value = null;
  for (const value of values) {
    if (isNullish(value)) continue;
    if (best === null || direction * compareValues(value, best) > 0) best = value;
  }
  return best;
};

export const sum = (values: readonly Value[]): Value =>
  values.filter(isNumeric).reduce<Value>((total, value) => arithmetic("add", total, value), new Int32(0));

export const average = (values: readonly Value[]): Value => {
  const numbers = values.filter(isNumeric);
  return numbers.length === 0 ? null : new Double(toNumber(sum(numbers)) / numbers.length);
};

/** With a single argument that is an array, the values are its elements. */
const over = (name: string, summarise: (values: readonly Value[]) => Value): OperatorCompiler =>
  variadic(name, (values) => {
    const [only] = values;
    return summarise(values.length === 1 && Array.isArray(only) ? only : values);
  });

export const summaryOperators: OperatorTable = {
  $max: over("$max", greatest),
  $min: over("$min", least),
  $sum: over("$sum", sum),
  $avg: over("$avg", average),
};
