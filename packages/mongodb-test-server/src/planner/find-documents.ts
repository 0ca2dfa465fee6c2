import type { Document, Value } from "../bson-values/types.ts";
import type { Filter } from "../query/filter.ts";
import type { Variables } from "../query/matches.ts";
import { createSortOrder, parseSort } from "../query/sort-order.ts";
import type { Collection } from "../storage/collection.ts";
import type { View } from "../storage/records.ts";
import { executePlan } from "./execute.ts";
import type { Found } from "./execute.ts";
import type { ScanCounts } from "./index-scan.ts";
import { choosePlan } from "./plan.ts";
import type { Plan } from "./plan.ts";

export interface Query {
  readonly filter: Filter;
  readonly variables: Variables;
  readonly sort?: Document | undefined;
  readonly skip?: number;
  /** 0 and nothing: all. */
  readonly limit?: number;
  readonly hint?: Value;
}

export interface Execution {
  readonly plan: Plan | undefined;
  readonly sortsInMemory: boolean;
  readonly counts: ScanCounts;
  readonly found: readonly Found[];
}

/** Puts results without a given order into another one; the identity unless a test wants to be surprised. */
export type Shuffle = <TItem>(items: TItem[]) => TItem[];

const take = <TItem>(items: Iterable<TItem>, skip: number, limit: number): TItem[] => {
  const result: TItem[] = [];
  let index = 0;
  for (const item of items) {
    if (index++ < skip) continue;
    result.push(item);
    if (limit > 0 && result.length >= limit) break;
  }
  return result;
};

export const findDocuments = (
  collection: Collection | undefined,
  view: View,
  query: Query,
  shuffle: Shuffle | undefined,
): Execution => {
  const counts: ScanCounts = { keysExamined: 0, docsExamined: 0 };
  const { filter, variables, sort = {}, skip = 0, limit = 0, hint } = query;
  const isNatural = "$natural" in sort;
  const parts = isNatural ? [] : parseSort(sort);
  if (collection === undefined) return { plan: undefined, sortsInMemory: false, counts, found: [] };
  const plan = choosePlan(collection, filter, parts, isNatural ? sort : hint);
  const matching = executePlan(plan, collection, view, filter, variables, counts);
  const isOrdered = parts.length === 0 || (plan.kind === "index" && plan.providesSort);
  if (!isOrdered) {
    const sorted = createSortOrder(sort).sort([...matching], ({ document }) => document);
    return { plan, sortsInMemory: true, counts, found: take(sorted, skip, limit) };
  }
  const isFree = parts.length === 0 && !isNatural && shuffle !== undefined;
  const found = take(isFree ? shuffle([...matching]) : matching, skip, limit);
  return { plan, sortsInMemory: false, counts, found };
};
