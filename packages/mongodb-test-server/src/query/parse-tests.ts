import { CommandError, notImplemented } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { isTrue } from "../expressions/scope.ts";
import type { FieldTest, Filter } from "./filter.ts";
import { createRegExp, regExpOf } from "./regular-expression.ts";
import { parseTypes } from "./type-aliases.ts";

type ParseFilter = (filter: Value) => Filter;

const requireArray = (name: string, value: Value): Value[] => {
  if (Array.isArray(value)) return value;
  throw new CommandError("BadValue", `${name} needs an array`);
};

const isMember = (name: string, value: Value): FieldTest => {
  const list = requireArray(name, value);
  if (list.some((item) => isDocument(item) && Object.keys(item)[0]?.startsWith("$") === true)) {
    throw new CommandError("BadValue", `cannot nest $ under ${name}`);
  }
  const patterns = list.map((item) => regExpOf(item)).filter((pattern) => pattern !== undefined);
  return { operator: "in", values: list, patterns };
};

const elementTest = (value: Value, parseFilter: ParseFilter): FieldTest => {
  if (!isDocument(value)) throw new CommandError("BadValue", "$elemMatch needs an Object");
  const [first] = Object.keys(value);
  const isLogical = first === "$and" || first === "$or" || first === "$nor" || first === "$expr";
  return first?.startsWith("$") === true && !isLogical
    ? { operator: "elementValue", tests: parseFieldTests(value, parseFilter) }
    : { operator: "elementDocument", filter: parseFilter(value) };
};

const all = (value: Value, parseFilter: ParseFilter): FieldTest[] => {
  const list = requireArray("$all", value);
  if (list.length === 0) return [{ operator: "in", values: [], patterns: [] }];
  return list.map((item) =>
    isDocument(item) && "$elemMatch" in item
      ? elementTest(item["$elemMatch"], parseFilter)
      : isMember("$all", [item]),
  );
};

const negated = (value: Value, parseFilter: ParseFilter): FieldTest => {
  const pattern = regExpOf(value);
  if (pattern !== undefined) return { operator: "not", tests: [{ operator: "regex", pattern }] };
  if (!isDocument(value) || Object.keys(value).length === 0) {
    throw new CommandError("BadValue", "$not needs a regex or a document");
  }
  return { operator: "not", tests: parseFieldTests(value, parseFilter) };
};

const parseRegex = (value: Value, options: Value): FieldTest => {
  const flags = typeof options === "string" ? options : undefined;
  const pattern =
    regExpOf(value, flags) ?? (typeof value === "string" ? createRegExp(value, flags ?? "") : undefined);
  if (pattern === undefined) throw new CommandError("BadValue", "$regex has to be a string");
  return { operator: "regex", pattern };
};

const size = (value: Value): FieldTest => {
  if (!isNumeric(value)) throw new CommandError("BadValue", "Failed to parse $size. Expected a number");
  return { operator: "size", size: toNumber(value) };
};

const mod = (value: Value): FieldTest => {
  const [divisor, remainder] = requireArray("$mod", value).map(toNumber);
  if (divisor === undefined || remainder === undefined || divisor === 0) {
    throw new CommandError("BadValue", "malformed mod, needs to be a divisor that is not 0 and a remainder");
  }
  return { operator: "mod", divisor: Math.trunc(divisor), remainder: Math.trunc(remainder) };
};

const parseTest = (name: string, value: Value, options: Value, parseFilter: ParseFilter): FieldTest[] => {
  switch (name) {
    case "$eq":
      return [{ operator: "eq", value }];
    case "$ne":
      return [{ operator: "not", tests: [{ operator: "eq", value }] }];
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte":
      return [{ operator: name.slice(1) as "gt", value }];
    case "$in":
      return [isMember(name, value)];
    case "$nin":
      return [{ operator: "not", tests: [isMember(name, value)] }];
    case "$exists":
      return isTrue(value)
        ? [{ operator: "exists" }]
        : [{ operator: "not", tests: [{ operator: "exists" }] }];
    case "$type":
      return [{ operator: "type", types: parseTypes(value) }];
    case "$size":
      return [size(value)];
    case "$mod":
      return [mod(value)];
    case "$all":
      return all(value, parseFilter);
    case "$elemMatch":
      return [elementTest(value, parseFilter)];
    case "$not":
      return [negated(value, parseFilter)];
    case "$regex":
      return [parseRegex(value, options)];
    case "$options":
    case "$comment":
      return [];
    case "$near":
    case "$geoWithin":
    case "$geoIntersects":
    case "$bitsAllSet":
    case "$bitsAnySet":
    case "$bitsAllClear":
    case "$bitsAnyClear":
      throw notImplemented(`the query operator ${name}`);
    default:
      throw new CommandError("BadValue", `unknown operator: ${name}`);
  }
};

/** Reads `{ $gt: 1, $lt: 5 }`. */
export const parseFieldTests = (operators: Document, parseFilter: ParseFilter): FieldTest[] => {
  if ("$options" in operators && !("$regex" in operators)) {
    throw new CommandError("BadValue", "$options needs a $regex");
  }
  return Object.entries(operators).flatMap(([name, value]) =>
    parseTest(name, value, operators["$options"], parseFilter),
  );
};
