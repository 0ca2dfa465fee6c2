import { compareValues, equalValues, typeRank } from "../bson-values/compare.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import { somePathValue } from "../bson-values/paths.ts";
import { isNullish, typeOf } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { isTrue } from "../expressions/scope.ts";
import type { Comparison, FieldTest, Filter } from "./filter.ts";

/** The variables of `$expr`: NOW, and what `let` defines. */
export type Variables = Readonly<Record<string, Value>>;

const isNaNValue = (value: Value): boolean => isNumeric(value) && Number.isNaN(toNumber(value));

const isExtreme = (value: Value): boolean => {
  const type = typeOf(value);
  return type === "minKey" || type === "maxKey";
};

/** Within one type only, unlike an expression: `{ $lt: date }` does not match null. */
const compares = (operator: Comparison, value: Value, operand: Value): boolean => {
  if (isNullish(operand)) return isNullish(value) && (operator === "gte" || operator === "lte");
  if (!isExtreme(operand) && typeRank(value) !== typeRank(operand)) return false;
  if (value === undefined) return false;
  if (isNaNValue(operand) || isNaNValue(value)) {
    return (operator === "gte" || operator === "lte") && isNaNValue(operand) && isNaNValue(value);
  }
  const order = compareValues(value, operand);
  switch (operator) {
    case "lt":
      return order < 0;
    case "lte":
      return order <= 0;
    case "gt":
      return order > 0;
    case "gte":
      return order >= 0;
  }
};

const equals = (value: Value, operand: Value): boolean =>
  isNullish(operand) ? isNullish(value) : value !== undefined && equalValues(value, operand);

const isInText = (pattern: RegExp, value: Value): boolean => typeof value === "string" && pattern.test(value);

/** Whether one value on the path passes; `not` is about all of them and is not decided here. */
const valuePasses = (test: FieldTest, value: Value, variables: Variables): boolean => {
  switch (test.operator) {
    case "eq":
      return equals(value, test.value);
    case "lt":
    case "lte":
    case "gt":
    case "gte":
      return compares(test.operator, value, test.value);
    case "in":
      return (
        test.values.some((candidate) => equals(value, candidate)) ||
        test.patterns.some((pattern) => isInText(pattern, value))
      );
    case "exists":
      return value !== undefined;
    case "type":
      return test.types.has(typeOf(value));
    case "size":
      return Array.isArray(value) && value.length === test.size;
    case "mod":
      return isNumeric(value) && Math.trunc(toNumber(value)) % test.divisor === test.remainder;
    case "regex":
      return isInText(test.pattern, value);
    case "elementDocument":
      return (
        Array.isArray(value) &&
        value.some(
          (element) => typeOf(element) === "object" && matches(test.filter, element as Document, variables),
        )
      );
    case "elementValue":
      return (
        Array.isArray(value) &&
        value.some((element) => test.tests.every((inner) => passes(inner, element, [], variables)))
      );
    case "not":
      return !test.tests.every((inner) => passes(inner, value, [], variables));
  }
};

/** These look at an array as a whole; everything else also at its elements. */
const looksAtWholeArrays = (test: FieldTest): boolean =>
  test.operator === "size" || test.operator === "elementDocument" || test.operator === "elementValue";

const passes = (test: FieldTest, start: Value, parts: readonly string[], variables: Variables): boolean => {
  if (test.operator === "not") {
    return !test.tests.every((inner) => passes(inner, start, parts, variables));
  }
  return somePathValue(start, parts, !looksAtWholeArrays(test), (value) =>
    valuePasses(test, value, variables),
  );
};

/** Whether a single value passes, arrays as a filter sees them: `$pull`, array filters. */
export const valueMatches = (tests: readonly FieldTest[], value: Value, variables: Variables): boolean =>
  tests.every((test) => passes(test, value, [], variables));

export const matches = (filter: Filter, document: Document, variables: Variables): boolean => {
  switch (filter.kind) {
    case "and":
      return filter.filters.every((inner) => matches(inner, document, variables));
    case "or":
      return filter.filters.some((inner) => matches(inner, document, variables));
    case "nor":
      return !filter.filters.some((inner) => matches(inner, document, variables));
    case "expression":
      return isTrue(filter.expression({ root: document, variables }));
    case "constant":
      return filter.value;
    case "field":
      return passes(filter.test, document, filter.parts, variables);
  }
};
