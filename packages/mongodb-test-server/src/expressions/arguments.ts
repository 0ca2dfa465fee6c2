import { CommandError } from "../errors.ts";
import { fieldOf, isDocument } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import type { Expression, OperatorCompiler } from "./scope.ts";

/** An operator of a fixed or variable number of arguments, all of them evaluated first. */
export const withArguments =
  (name: string, count: readonly [number, number], evaluate: (values: Value[]) => Value): OperatorCompiler =>
  (argument, compile) => {
    const list = Array.isArray(argument) ? argument : [argument];
    const [least, most] = count;
    if (list.length < least || list.length > most) {
      throw new CommandError(
        16020,
        `Expression ${name} takes ${least === most ? `exactly ${least}` : `at least ${least} and at most ${most}`} arguments. ${list.length} were passed in.`,
      );
    }
    const compiled = list.map((item: Value) => compile(item));
    return (scope) => evaluate(compiled.map((expression) => expression(scope)));
  };

export const unary = (name: string, evaluate: (value: Value) => Value): OperatorCompiler =>
  withArguments(name, [1, 1], ([value]) => evaluate(value));

export const binary = (name: string, evaluate: (a: Value, b: Value) => Value): OperatorCompiler =>
  withArguments(name, [2, 2], ([a, b]) => evaluate(a, b));

export const variadic = (name: string, evaluate: (values: Value[]) => Value): OperatorCompiler =>
  withArguments(name, [0, Number.POSITIVE_INFINITY], evaluate);

/** An operator whose argument is a document of named parts; parts it does not know are refused. */
export const namedParts = (
  name: string,
  argument: Value,
  required: readonly string[],
  optional: readonly string[] = [],
): Record<string, Value> => {
  if (!isDocument(argument))
    throw new CommandError("FailedToParse", `${name} requires an object as an argument`);
  for (const field of Object.keys(argument)) {
    if (!required.includes(field) && !optional.includes(field)) {
      throw new CommandError("FailedToParse", `Unrecognized parameter to ${name}: ${field}`);
    }
  }
  for (const field of required) {
    if (fieldOf(argument, field) === undefined) {
      throw new CommandError("FailedToParse", `Missing '${field}' parameter to ${name}`);
    }
  }
  return argument;
};

export const compilePart = (
  parts: Record<string, Value>,
  name: string,
  compile: (expression: Value) => Expression,
): Expression | undefined => (Object.hasOwn(parts, name) ? compile(parts[name]) : undefined);
