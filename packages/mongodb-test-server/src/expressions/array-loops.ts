import { isNullish } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import { toNumber } from "../bson-values/numbers.ts";
import { compilePart, namedParts } from "./arguments.ts";
import { requireArray } from "./arrays.ts";
import { isTrue, withVariables } from "./scope.ts";
import type { OperatorCompiler, OperatorTable } from "./scope.ts";

const nameOf = (value: Value): string => (typeof value === "string" ? value : "this");

const filter: OperatorCompiler = (argument, compile) => {
  const parts = namedParts("$filter", argument, ["input", "cond"], ["as", "limit"]);
  const name = nameOf(parts["as"]);
  const [input, condition] = [compile(parts["input"]), compile(parts["cond"])];
  const limit = compilePart(parts, "limit", compile);
  return (scope) => {
    const value = input(scope);
    if (isNullish(value)) return null;
    const kept = requireArray("$filter", value).filter((element) =>
      isTrue(condition(withVariables(scope, { [name]: element }))),
    );
    const most = limit?.(scope);
    return isNullish(most) ? kept : kept.slice(0, toNumber(most));
  };
};

const map: OperatorCompiler = (argument, compile) => {
  const parts = namedParts("$map", argument, ["input", "in"], ["as"]);
  const name = nameOf(parts["as"]);
  const [input, body] = [compile(parts["input"]), compile(parts["in"])];
  return (scope) => {
    const value = input(scope);
    if (isNullish(value)) return null;
    return requireArray("$map", value).map(
      (element) => body(withVariables(scope, { [name]: element })) ?? null,
    );
  };
};

const reduce: OperatorCompiler = (argument, compile) => {
  const parts = namedParts("$reduce", argument, ["input", "initialValue", "in"]);
  const [input, start, body] = [
    compile(parts["input"]),
    compile(parts["initialValue"]),
    compile(parts["in"]),
  ];
  return (scope) => {
    const array = input(scope);
    if (isNullish(array)) return null;
    let value = start(scope);
    for (const element of requireArray("$reduce", array)) {
      value = body(withVariables(scope, { this: element, value }));
    }
    return value;
  };
};

export const arrayLoopOperators: OperatorTable = { $filter: filter, $map: map, $reduce: reduce };
