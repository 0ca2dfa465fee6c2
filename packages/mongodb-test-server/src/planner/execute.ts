import type { Document } from "../bson-values/types.ts";
import type { Filter } from "../query/filter.ts";
import { matches } from "../query/matches.ts";
import type { Variables } from "../query/matches.ts";
import type { Collection } from "../storage/collection.ts";
import type { IndexEntry } from "../storage/collection-index.ts";
import { visibleDocument } from "../storage/records.ts";
import type { StoredRecord, View } from "../storage/records.ts";
import { compareBounds } from "./intervals.ts";
import type { Interval } from "./intervals.ts";
import { scanIndex } from "./index-scan.ts";
import type { ScanCounts } from "./index-scan.ts";
import type { IndexPlan, Plan } from "./plan.ts";

export interface Found {
  readonly record: StoredRecord;
  readonly document: Document;
}

/** One set of bounds for every combination of points in the first fields. */
const splitBounds = (bounds: readonly (readonly Interval[])[], merged: number): (readonly Interval[])[][] => {
  let result: (readonly Interval[])[][] = [[]];
  for (const [i, intervals] of bounds.entries()) {
    const choices = i < merged ? intervals.map((interval) => [interval]) : [intervals];
    result = result.flatMap((prefix) => choices.map((choice) => [...prefix, choice]));
  }
  return result;
};

/** Merges scans that each come in the order of the fields behind the merged ones. */
function* mergeScans(plan: IndexPlan, counts: ScanCounts): Generator<IndexEntry> {
  const { index, direction, merged } = plan;
  const compare = (a: IndexEntry, b: IndexEntry): number => {
    for (const [i, field] of index.definition.fields.entries()) {
      if (i < merged) continue;
      const order = field.direction * direction * compareBounds(a.key[i], b.key[i]);
      if (order !== 0) return order;
    }
    return 0;
  };
  const scans = splitBounds(plan.bounds, merged).map((bounds) => scanIndex(index, bounds, direction, counts));
  const heads = scans.map((scan) => ({ scan, entry: scan.next().value as IndexEntry | undefined }));
  for (;;) {
    let best: (typeof heads)[number] | undefined;
    for (const head of heads) {
      if (head.entry === undefined) continue;
      if (best?.entry === undefined || compare(head.entry, best.entry) < 0) best = head;
    }
    if (best?.entry === undefined) return;
    yield best.entry;
    best.entry = best.scan.next().value as IndexEntry | undefined;
  }
}

function* candidates(plan: Plan, collection: Collection, view: View, counts: ScanCounts): Generator<Found> {
  if (plan.kind === "or") {
    for (const inner of plan.plans) yield* candidates(inner, collection, view, counts);
  } else if (plan.kind === "collection") {
    const records = [...collection.records.values()];
    for (const record of plan.direction === 1 ? records : records.toReversed()) {
      const document = visibleDocument(record, view);
      if (document === undefined) continue;
      counts.docsExamined++;
      yield { record, document };
    }
  } else {
    const entries =
      plan.merged > 0 ? mergeScans(plan, counts) : scanIndex(plan.index, plan.bounds, plan.direction, counts);
    for (const { key, record } of entries) {
      const document = visibleDocument(record, view);
      if (document === undefined || !plan.index.hasKey(document, key)) continue;
      counts.docsExamined++;
      yield { record, document };
    }
  }
}

const mayRepeat = (plan: Plan): boolean =>
  plan.kind === "or" || (plan.kind === "index" && plan.index.isMultikey());

/** The matches of a filter, each once, in the order of the plan. */
export function* executePlan(
  plan: Plan,
  collection: Collection,
  view: View,
  filter: Filter,
  variables: Variables,
  counts: ScanCounts,
): Generator<Found> {
  const seen = mayRepeat(plan) ? new Set<StoredRecord>() : undefined;
  for (const found of candidates(plan, collection, view, counts)) {
    if (seen?.has(found.record) === true) continue;
    seen?.add(found.record);
    if (matches(filter, found.document, variables)) yield found;
  }
}
