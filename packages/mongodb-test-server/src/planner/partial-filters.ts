import { compareValues, typeRank } from "../bson-values/compare.ts";
import { isNullish, typeOf } from "../bson-values/types.ts";
import type { FieldFilter, FieldTest, Filter } from "../query/filter.ts";
import { requiredTests } from "./bounds.ts";

const comparisonImplies = (known: FieldTest, wanted: FieldTest): boolean => {
  if (!("value" in known) || !("value" in wanted)) return false;
  const order = compareValues(known.value, wanted.value);
  if (known.operator === "eq") {
    if (typeRank(known.value) !== typeRank(wanted.value)) return false;
    return { eq: order === 0, lt: order < 0, lte: order <= 0, gt: order > 0, gte: order >= 0 }[
      wanted.operator
    ];
  }
  if (typeRank(known.value) !== typeRank(wanted.value)) return false;
  if (known.operator === wanted.operator && order === 0) return true;
  if (wanted.operator === "gt" || wanted.operator === "gte") {
    return (
      ((known.operator === "gt" || known.operator === "gte") && order > 0) ||
      (known.operator === "gt" && wanted.operator === "gte" && order === 0)
    );
  }
  if (wanted.operator === "lt" || wanted.operator === "lte") {
    return (
      ((known.operator === "lt" || known.operator === "lte") && order < 0) ||
      (known.operator === "lt" && wanted.operator === "lte" && order === 0)
    );
  }
  return false;
};

const implies = (known: FieldTest, wanted: FieldTest): boolean => {
  if (known.operator === "in" && known.patterns.length === 0) {
    return known.values.every((value) => implies({ operator: "eq", value }, wanted));
  }
  switch (wanted.operator) {
    case "exists":
      return (
        (known.operator === "eq" && !isNullish(known.value)) ||
        known.operator === "exists" ||
        ("value" in known && known.operator !== "eq" && !isNullish(known.value))
      );
    case "type":
      if (known.operator === "eq") return wanted.types.has(typeOf(known.value));
      return known.operator === "type" && [...known.types].every((type) => wanted.types.has(type));
    case "in":
      return (
        known.operator === "eq" && wanted.values.some((value) => compareValues(value, known.value) === 0)
      );
    default:
      return comparisonImplies(known, wanted);
  }
};

const isImplied = (wanted: Filter, known: readonly FieldFilter[]): boolean => {
  switch (wanted.kind) {
    case "and":
      return wanted.filters.every((inner) => isImplied(inner, known));
    case "or":
      return wanted.filters.some((inner) => isImplied(inner, known));
    case "field":
      return known.some(({ path, test }) => path === wanted.path && implies(test, wanted.test));
    default:
      return false;
  }
};

/** Whether every match of the query is in an index over `partial`: only then may the index be used. */
export const coversQuery = (partial: Filter, query: Filter): boolean =>
  isImplied(partial, requiredTests(query));
