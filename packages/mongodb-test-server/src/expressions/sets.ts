import { equalityKey } from "../bson-values/equality-key.ts";
import { isNullish } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import { binary, unary, variadic } from "./arguments.ts";
import { requireArray } from "./arrays.ts";
import { isTrue } from "./scope.ts";
import type { OperatorTable } from "./scope.ts";

const distinct = (values: readonly Value[]): Value[] => [
  ...new Map(values.map((value) => [equalityKey(value), value])).values(),
];

const keysOf = (name: string, value: Value): Set<string> =>
  new Set(requireArray(name, value).map((element) => equalityKey(element)));

const isSubset = (a: Set<string>, b: Set<string>): boolean => [...a].every((key) => b.has(key));

export const setOperators: OperatorTable = {
  $setUnion: variadic("$setUnion", (values) =>
    values.some(isNullish) ? null : distinct(values.flatMap((value) => requireArray("$setUnion", value))),
  ),
  $setIntersection: variadic("$setIntersection", (values) => {
    if (values.some(isNullish)) return null;
    const [first, ...others] = values;
    const sets = others.map((other) => keysOf("$setIntersection", other));
    return distinct(first === undefined ? [] : requireArray("$setIntersection", first)).filter((value) =>
      sets.every((set) => set.has(equalityKey(value))),
    );
  }),
  $setDifference: binary("$setDifference", (a, b) => {
    if (isNullish(a) || isNullish(b)) return null;
    const without = keysOf("$setDifference", b);
    return distinct(requireArray("$setDifference", a)).filter((value) => !without.has(equalityKey(value)));
  }),
  $setIsSubset: binary("$setIsSubset", (a, b) =>
    isSubset(keysOf("$setIsSubset", a), keysOf("$setIsSubset", b)),
  ),
  $setEquals: binary("$setEquals", (a, b) => {
    const [left, right] = [keysOf("$setEquals", a), keysOf("$setEquals", b)];
    return left.size === right.size && isSubset(left, right);
  }),
  $anyElementTrue: unary("$anyElementTrue", (value) => requireArray("$anyElementTrue", value).some(isTrue)),
  $allElementsTrue: unary("$allElementsTrue", (value) =>
    requireArray("$allElementsTrue", value).every(isTrue),
  ),
};
