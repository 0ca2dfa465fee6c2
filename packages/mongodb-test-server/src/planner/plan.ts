import { CommandError } from "../errors.ts";
import { compareValues } from "../bson-values/compare.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import type { Filter, FieldFilter } from "../query/filter.ts";
import type { Direction, SortPart } from "../query/sort-order.ts";
import type { Collection } from "../storage/collection.ts";
import type { CollectionIndex } from "../storage/collection-index.ts";
import { boundsOfPath, requiredTests } from "./bounds.ts";
import { everything, isPoint } from "./intervals.ts";
import type { Interval } from "./intervals.ts";
import { coversQuery } from "./partial-filters.ts";

export interface IndexPlan {
  readonly kind: "index";
  readonly index: CollectionIndex;
  readonly bounds: readonly (readonly Interval[])[];
  readonly direction: Direction;
  /** So many first fields with a choice of points are walked one by one and merged: it gives the order of the sort. */
  readonly merged: number;
  readonly providesSort: boolean;
}

export type Plan =
  | IndexPlan
  | { readonly kind: "or"; readonly plans: readonly Plan[] }
  | { readonly kind: "collection"; readonly direction: Direction };

/** The server merges no more scans than this. */
const mostMerged = 200;

const isExact = (intervals: readonly Interval[]): boolean => intervals.length > 0 && intervals.every(isPoint);

/** How an index gives the wanted order: behind fields that are fixed, forwards or backwards. */
const sortThrough = (
  index: CollectionIndex,
  bounds: readonly (readonly Interval[])[],
  sort: readonly SortPart[],
): { direction: Direction; merged: number } | undefined => {
  const { fields } = index.definition;
  if (sort.length === 0 || index.isMultikey()) return undefined;
  let fixed = 0;
  while (fixed < fields.length && isExact(bounds[fixed] ?? []) && fields[fixed]?.path !== sort[0]?.path)
    fixed++;
  const wanted = sort.filter(({ path }) => {
    const at = fields.findIndex((field) => field.path === path);
    return !(at >= 0 && at < fixed && bounds[at]?.length === 1);
  });
  const [first] = wanted;
  if (first === undefined) return { direction: 1, merged: 0 };
  const rest = fields.slice(fixed, fixed + wanted.length);
  const direction = ((rest[0]?.direction ?? 1) * first.direction) as Direction;
  const fits = wanted.every(
    (part, i) => rest[i]?.path === part.path && rest[i].direction * direction === part.direction,
  );
  const combinations = bounds.slice(0, fixed).reduce((product, intervals) => product * intervals.length, 1);
  if (!fits || combinations > mostMerged) return undefined;
  return { direction, merged: combinations > 1 ? fixed : 0 };
};

const isAllowed = (index: CollectionIndex, filter: Filter, tests: readonly FieldFilter[]): boolean => {
  const { partial, sparse, fields } = index.definition;
  if (partial !== undefined && !coversQuery(partial, filter)) return false;
  if (!sparse) return true;
  return fields.some(({ path }) =>
    tests.some(
      (test) =>
        test.path === path &&
        test.test.operator !== "not" &&
        !("value" in test.test && (test.test.value === null || test.test.value === undefined)) &&
        !(test.test.operator === "in" && test.test.values.includes(null)),
    ),
  );
};

const planIndex = (
  index: CollectionIndex,
  tests: readonly FieldFilter[],
  sort: readonly SortPart[],
): IndexPlan => {
  const bounds = index.definition.fields.map(({ path }) =>
    boundsOfPath(
      tests.filter((test) => test.path === path).map(({ test }) => test),
      index.isMultikey(),
    ),
  );
  const order = sortThrough(index, bounds, sort);
  return {
    kind: "index",
    index,
    bounds,
    direction: order?.direction ?? 1,
    merged: order?.merged ?? 0,
    providesSort: order !== undefined,
  };
};

const isBounded = (intervals: readonly Interval[]): boolean => intervals[0] !== everything;

/** Bounded first fields count most, then the order of the sort, then bounds further behind. */
const scoreOf = ({ bounds, providesSort, index }: IndexPlan): number => {
  const firstOpen = bounds.findIndex((intervals) => !isBounded(intervals));
  const prefix = firstOpen < 0 ? bounds.length : firstOpen;
  if (
    prefix === bounds.length &&
    index.definition.unique &&
    bounds.every((b) => b.length === 1 && isExact(b))
  ) {
    return 1000;
  }
  const exact = bounds.slice(0, prefix).filter(isExact).length;
  const bounded = bounds.filter(isBounded).length;
  return prefix * 20 + exact * 5 + (providesSort ? 30 : 0) + bounded * 2 - bounds.length;
};

const findHinted = (collection: Collection, hint: Value): CollectionIndex => {
  for (const index of collection.indexes.values()) {
    const isMeant = isDocument(hint)
      ? compareValues(index.definition.spec["key"], hint) === 0
      : index.definition.name === hint;
    if (isMeant) return index;
  }
  throw new CommandError(
    "BadValue",
    "error processing query: planner returned error :: caused by :: hint provided does not correspond to an existing index",
  );
};

const planOr = (collection: Collection, filter: Filter): Plan | undefined => {
  const filters = filter.kind === "and" ? filter.filters : [filter];
  const or = filters.find((inner) => inner.kind === "or");
  if (or?.kind !== "or") return undefined;
  const others = filters.filter((inner) => inner !== or);
  const plans = or.filters.map((branch) =>
    choosePlan(collection, { kind: "and", filters: [...others, branch] }, [], undefined),
  );
  return plans.every((plan) => plan.kind !== "collection") ? { kind: "or", plans } : undefined;
};

/** Chooses by rule, not by trial as the server does; the indexes it may choose from are the same. */
export const choosePlan = (
  collection: Collection,
  filter: Filter,
  sort: readonly SortPart[],
  hint: Value,
): Plan => {
  const tests = requiredTests(filter);
  if (isDocument(hint) && "$natural" in hint) {
    return { kind: "collection", direction: Number(hint["$natural"]) < 0 ? -1 : 1 };
  }
  if (hint !== undefined) return planIndex(findHinted(collection, hint), tests, sort);
  const plans = [...collection.indexes.values()]
    .filter((index) => isAllowed(index, filter, tests))
    .map((index) => planIndex(index, tests, sort))
    .filter(({ bounds, providesSort }) => providesSort || isBounded(bounds[0] ?? [everything]))
    .toSorted((a, b) => scoreOf(b) - scoreOf(a));
  return plans[0] ?? planOr(collection, filter) ?? { kind: "collection", direction: 1 };
};
