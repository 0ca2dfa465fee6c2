import { CommandError } from "../errors.ts";
import { isDocument, isNullish } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import { compilePart, namedParts, unary } from "./arguments.ts";
import { isTrue, withVariables } from "./scope.ts";
import type { OperatorCompiler, OperatorTable } from "./scope.ts";

const listOf = (argument: Value): Value[] => (Array.isArray(argument) ? argument : [argument]);

const cond: OperatorCompiler = (argument, compile) => {
  const [condition, yes, no] = Array.isArray(argument)
    ? argument
    : (({ if: condition, then: yes, else: no }) => [condition, yes, no])(
        namedParts("$cond", argument, ["if", "then", "else"]),
      );
  if (Array.isArray(argument) && argument.length !== 3) {
    throw new CommandError(
      16020,
      `Expression $cond takes exactly 3 arguments. ${argument.length} were passed in.`,
    );
  }
  const [test, whenTrue, whenFalse] = [compile(condition), compile(yes), compile(no)];
  return (scope) => (isTrue(test(scope)) ? whenTrue(scope) : whenFalse(scope));
};

const ifNull: OperatorCompiler = (argument, compile) => {
  const list = listOf(argument).map((item) => compile(item));
  if (list.length < 2) throw new CommandError(1257300, "$ifNull needs at least two arguments");
  return (scope) => {
    let value: Value;
    for (const expression of list) {
      value = expression(scope);
      if (!isNullish(value)) return value;
    }
    return value;
  };
};

const switchOperator: OperatorCompiler = (argument, compile) => {
  const parts = namedParts("$switch", argument, ["branches"], ["default"]);
  const branches = listOf(parts["branches"]).map((branch) => {
    const named = namedParts("$switch", branch, ["case", "then"]);
    return { test: compile(named["case"]), result: compile(named["then"]) };
  });
  const otherwise = compilePart(parts, "default", compile);
  return (scope) => {
    for (const { test, result } of branches) if (isTrue(test(scope))) return result(scope);
    if (otherwise !== undefined) return otherwise(scope);
    throw new CommandError(
      40066,
      "$switch could not find a matching branch for an input, and no default was specified.",
    );
  };
};

const letOperator: OperatorCompiler = (argument, compile) => {
  const parts = namedParts("$let", argument, ["vars", "in"]);
  const given = isDocument(parts["vars"]) ? parts["vars"] : {};
  const variables = Object.entries(given).map(([name, value]) => [name, compile(value)] as const);
  const body = compile(parts["in"]);
  return (scope) =>
    body(withVariables(scope, Object.fromEntries(variables.map(([name, value]) => [name, value(scope)]))));
};

export const conditionalOperators: OperatorTable = {
  $and: (argument, compile) => {
    const list = listOf(argument).map((item) => compile(item));
    return (scope) => list.every((expression) => isTrue(expression(scope)));
  },
  $or: (argument, compile) => {
    const list = listOf(argument).map((item) => compile(item));
    return (scope) => list.some((expression) => isTrue(expression(scope)));
  },
  $not: unary("$not", (value) => !isTrue(value)),
  $cond: cond,
  $ifNull: ifNull,
  $switch: switchOperator,
  $let: letOperator,
};
