import { CommandError } from "../errors.ts";
import { compareValues, equalValues } from "../bson-values/compare.ts";
import { toNumber } from "../bson-values/numbers.ts";
import { isDocument, typeOf } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { matches, valueMatches } from "../query/matches.ts";
import type { Variables } from "../query/matches.ts";
import { parseFilter } from "../query/parse.ts";
import { parseFieldTests } from "../query/parse-tests.ts";
import { regExpOf } from "../query/regular-expression.ts";
import { createSortOrder } from "../query/sort-order.ts";

const arrayOf = (operator: string, current: Value): Value[] | undefined => {
  if (current === undefined) return undefined;
  if (Array.isArray(current)) return current;
  throw new CommandError(
    "BadValue",
    `Cannot apply ${operator} to a non-array value of type ${typeOf(current)}`,
  );
};

const eachOf = (operator: string, argument: Value, allowed: readonly string[]): [Value[], Document] => {
  if (!isDocument(argument) || !("$each" in argument)) return [[argument], {}];
  for (const name of Object.keys(argument)) {
    if (!allowed.includes(name))
      throw new CommandError("BadValue", `Unrecognized clause in ${operator}: ${name}`);
  }
  const each = argument["$each"];
  if (!Array.isArray(each)) {
    throw new CommandError("BadValue", `The argument to $each in ${operator} must be an array`);
  }
  return [each, argument];
};

export const push = (current: Value, argument: Value): Value => {
  const [values, clauses] = eachOf("$push", argument, ["$each", "$slice", "$sort", "$position"]);
  const array = arrayOf("$push", current) ?? [];
  const position = "$position" in clauses ? toNumber(clauses["$position"]) : array.length;
  let result = array.toSpliced(position, 0, ...values);
  const sort = clauses["$sort"];
  if (isDocument(sort)) result = createSortOrder(sort).sort(result, (element) => element);
  else if (sort !== undefined) result = result.toSorted((a, b) => toNumber(sort) * compareValues(a, b));
  if (!("$slice" in clauses)) return result;
  const slice = toNumber(clauses["$slice"]);
  return slice >= 0 ? result.slice(0, slice) : result.slice(slice);
};

export const addToSet = (current: Value, argument: Value): Value => {
  const [values] = eachOf("$addToSet", argument, ["$each"]);
  const array = arrayOf("$addToSet", current);
  const result = [...(array ?? [])];
  for (const value of values) if (!result.some((element) => equalValues(element, value))) result.push(value);
  return array !== undefined && result.length === array.length ? array : result;
};

const pullTest = (argument: Value, variables: Variables): ((element: Value) => boolean) => {
  const pattern = regExpOf(argument);
  if (pattern !== undefined) return (element) => typeof element === "string" && pattern.test(element);
  if (!isDocument(argument)) return (element) => equalValues(element, argument);
  if (Object.keys(argument)[0]?.startsWith("$") === true) {
    const tests = parseFieldTests(argument, parseFilter);
    return (element) => valueMatches(tests, element, variables);
  }
  const filter = parseFilter(argument);
  return (element) => isDocument(element) && matches(filter, element, variables);
};

const without = (current: Value[] | undefined, isPulled: (element: Value) => boolean): Value => {
  const kept = current?.filter((element) => !isPulled(element));
  return kept?.length === current?.length ? current : kept;
};

export const pull = (current: Value, argument: Value, variables: Variables): Value =>
  without(arrayOf("$pull", current), pullTest(argument, variables));

export const pullAll = (current: Value, argument: Value): Value => {
  if (!Array.isArray(argument)) throw new CommandError("BadValue", "$pullAll requires an array argument");
  return without(arrayOf("$pullAll", current), (element) =>
    argument.some((value) => equalValues(value, element)),
  );
};

export const pop = (current: Value, argument: Value): Value => {
  const array = arrayOf("$pop", current);
  if (array === undefined || array.length === 0) return array;
  return toNumber(argument) < 0 ? array.slice(1) : array.slice(0, -1);
};
