import { CommandError, notImplemented } from "../errors.ts";
import { isDocument, typeOf } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { compileExpression } from "../expressions/compile.ts";
import type { FieldTest, Filter } from "./filter.ts";
import { parseFieldTests } from "./parse-tests.ts";
import { regExpOf } from "./regular-expression.ts";

const parseList = (name: string, value: Value): Filter[] => {
  if (!Array.isArray(value) || value.length === 0) {
    throw new CommandError("BadValue", `${name} must be a nonempty array`);
  }
  return value.map((item: Value) => {
    if (!isDocument(item)) throw new CommandError("BadValue", `${name} entries need to be full objects`);
    return parseFilter(item);
  });
};

const parseTopLevel = (name: string, value: Value): Filter[] => {
  switch (name) {
    case "$and":
      return parseList(name, value);
    case "$or":
      return [{ kind: "or", filters: parseList(name, value) }];
    case "$nor":
      return [{ kind: "nor", filters: parseList(name, value) }];
    case "$expr":
      return [{ kind: "expression", expression: compileExpression(value) }];
    case "$comment":
      return [];
    case "$alwaysFalse":
    case "$alwaysTrue":
      return [{ kind: "constant", value: name === "$alwaysTrue" }];
    case "$where":
    case "$text":
    case "$jsonSchema":
    case "$sampleRate":
      throw notImplemented(`the query operator ${name}`);
    default:
      throw new CommandError("BadValue", `unknown top level operator: ${name}`);
  }
};

const hasOperators = (value: Value): value is Document => {
  if (!isDocument(value)) return false;
  const [first] = Object.keys(value);
  return first?.startsWith("$") === true && first !== "$ref" && first !== "$id" && first !== "$db";
};

/** The tests that a value in the place of `{ field: value }` stands for. */
const testsOf = (value: Value): FieldTest[] => {
  const pattern = regExpOf(value);
  if (pattern !== undefined) return [{ operator: "in", values: [value], patterns: [pattern] }];
  return hasOperators(value) ? parseFieldTests(value, parseFilter) : [{ operator: "eq", value }];
};

/** Reads a filter; an operator the server does not know is an error that names it. */
export const parseFilter = (filter: Value): Filter => {
  if (!isDocument(filter)) {
    throw new CommandError("TypeMismatch", `a filter has to be an object, not ${typeOf(filter)}`);
  }
  const filters = Object.entries(filter).flatMap(([name, value]): Filter[] =>
    name.startsWith("$")
      ? parseTopLevel(name, value)
      : testsOf(value).map((test) => ({ kind: "field", path: name, parts: name.split("."), test })),
  );
  const [only] = filters;
  return filters.length === 1 && only !== undefined ? only : { kind: "and", filters };
};
