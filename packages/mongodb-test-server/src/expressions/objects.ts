import { CommandError } from "../errors.ts";
import { fieldOf, isDocument, isNullish, setField, typeOf } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { namedParts, unary, variadic } from "./arguments.ts";
import { requireArray } from "./arrays.ts";
import type { OperatorCompiler, OperatorTable } from "./scope.ts";

const mergeObjects = (values: Value[]): Value => {
  const result: Document = {};
  for (const value of values) {
    if (isNullish(value)) continue;
    if (!isDocument(value)) {
      throw new CommandError(
        40400,
        `$mergeObjects requires object inputs, but input is of type ${typeOf(value)}`,
      );
    }
    for (const [name, field] of Object.entries(value)) setField(result, name, field);
  }
  return result;
};

const fieldName = (value: Value): string => {
  if (typeof value === "string") return value;
  if (isDocument(value) && typeof value["$literal"] === "string") return value["$literal"];
  throw new CommandError(5654600, "the field of $getField or $setField has to be a constant string");
};

const getField: OperatorCompiler = (argument, compile) => {
  const parts =
    isDocument(argument) && "field" in argument
      ? namedParts("$getField", argument, ["field"], ["input"])
      : { field: argument };
  const field = fieldName(parts["field"]);
  const input = compile("input" in parts ? parts["input"] : "$$CURRENT");
  return (scope) => {
    const document = input(scope);
    return isDocument(document) ? fieldOf(document, field) : undefined;
  };
};

const setFieldOperator: OperatorCompiler = (argument, compile) => {
  const parts = namedParts("$setField", argument, ["field", "input", "value"]);
  const field = fieldName(parts["field"]);
  const [input, value] = [compile(parts["input"]), compile(parts["value"])];
  return (scope) => {
    const document = input(scope);
    if (!isDocument(document)) return null;
    const result = { ...document };
    const set = value(scope);
    if (set === undefined) delete result[field];
    else setField(result, field, set);
    return result;
  };
};

const pairOf = (element: Value): [string, Value] => {
  if (Array.isArray(element)) return [String(element[0]), element[1]];
  if (isDocument(element)) return [String(element["k"]), element["v"]];
  throw new CommandError(40391, "$arrayToObject needs pairs, or documents with k and v");
};

export const objectOperators: OperatorTable = {
  $mergeObjects: variadic("$mergeObjects", mergeObjects),
  $getField: getField,
  $setField: setFieldOperator,
  $objectToArray: unary("$objectToArray", (value) =>
    isNullish(value) ? null : Object.entries(value as Document).map(([k, v]) => ({ k, v })),
  ),
  $arrayToObject: unary("$arrayToObject", (value) => {
    if (isNullish(value)) return null;
    const result: Document = {};
    for (const element of requireArray("$arrayToObject", value)) setField(result, ...pairOf(element));
    return result;
  }),
};
