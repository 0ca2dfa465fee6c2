import { typeRank } from "../bson-values/compare.ts";
import { isNullish, typeOf } from "../bson-values/types.ts";
import type { TypeName, Value } from "../bson-values/types.ts";
import type { FieldFilter, FieldTest, Filter } from "../query/filter.ts";
import { everything, intersect, normalise, ofRank, point } from "./intervals.ts";
import type { Interval } from "./intervals.ts";

/** The tests of fields that every match has to pass. */
export const requiredTests = (filter: Filter): FieldFilter[] => {
  if (filter.kind === "field") return [filter];
  return filter.kind === "and" ? filter.filters.flatMap((inner) => requiredTests(inner)) : [];
};

const representatives: Partial<Record<TypeName, number>> = {
  int: 10,
  long: 10,
  double: 10,
  decimal: 10,
  string: 15,
  object: 20,
  binData: 30,
  objectId: 35,
  bool: 40,
  date: 45,
  timestamp: 47,
};

const comparison = (
  test: Extract<FieldTest, { operator: "lt" | "lte" | "gt" | "gte" }>,
): Interval[] | undefined => {
  const { operator, value } = test;
  const type = typeOf(value);
  if (type === "array" || type === "minKey" || type === "maxKey" || type === "object") return undefined;
  if (isNullish(value)) return operator === "gte" || operator === "lte" ? [point(null)] : [];
  const whole = ofRank(typeRank(value));
  const isUpper = operator === "lt" || operator === "lte";
  const included = operator === "lte" || operator === "gte";
  return [
    isUpper
      ? { ...whole, high: value, highIncluded: included }
      : { ...whole, low: value, lowIncluded: included },
  ];
};

/** Arrays and regular expressions can match what lies elsewhere in the index. */
const canBePoint = (value: Value): boolean => {
  const type = typeOf(value);
  return type !== "array" && type !== "regex" && type !== "missing";
};

/** The part of an index where matches can be; `undefined` when the test says nothing about it. */
const intervalsOf = (test: FieldTest): Interval[] | undefined => {
  switch (test.operator) {
    case "eq":
      return canBePoint(test.value) ? [point(test.value)] : undefined;
    case "in":
      return test.values.every(canBePoint) ? normalise(test.values.map((value) => point(value))) : undefined;
    case "lt":
    case "lte":
    case "gt":
    case "gte":
      return comparison(test);
    case "type": {
      const ranks = [...test.types].map((type) => representatives[type]);
      return ranks.every((rank) => rank !== undefined)
        ? normalise(ranks.map((rank) => ofRank(rank)))
        : undefined;
    }
    case "regex":
      return [ofRank(15)];
    case "elementValue": {
      const inner = test.tests.map(intervalsOf).filter((intervals) => intervals !== undefined);
      return inner.length === 0 ? undefined : inner.reduce((a, b) => intersect(a, b));
    }
    default:
      return undefined;
  }
};

/** All tests of one path together. With arrays in the index each may be met by another element: only one counts. */
export const boundsOfPath = (tests: readonly FieldTest[], isMultikey: boolean): readonly Interval[] => {
  const known = tests.map(intervalsOf).filter((intervals) => intervals !== undefined);
  const [first] = known;
  if (first === undefined) return [everything];
  return isMultikey ? first : known.reduce((a, b) => intersect(a, b));
};
