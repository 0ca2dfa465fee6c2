import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import type { Value } from "../bson-values/types.ts";

/** What an expression sees while it is evaluated. */
export interface Scope {
  readonly root: Value;
  /** Without their `$$`; NOW and CLUSTER_TIME among them. */
  readonly variables: Readonly<Record<string, Value>>;
}

export type Expression = (scope: Scope) => Value;

/** Makes the function of an operator from the operator's argument as it was sent. */
export type OperatorCompiler = (argument: Value, compile: (expression: Value) => Expression) => Expression;

export type OperatorTable = Readonly<Record<string, OperatorCompiler>>;

export const withVariables = (scope: Scope, variables: Readonly<Record<string, Value>>): Scope => ({
  root: scope.root,
  variables: { ...scope.variables, ...variables },
});

export const isTrue = (value: Value): boolean => {
  if (value === undefined || value === null || value === false) return false;
  return !isNumeric(value) || toNumber(value) !== 0;
};
