import type { Value } from "../bson-values/types.ts";
import type { CollectionIndex, IndexEntry } from "../storage/collection-index.ts";
import type { Direction } from "../query/sort-order.ts";
import type { Position } from "../storage/ordered-list.ts";
import { compareBounds, everything, isPoint, place } from "./intervals.ts";
import type { Interval } from "./intervals.ts";

/** What a plan has looked at so far. */
export interface ScanCounts {
  keysExamined: number;
  docsExamined: number;
}

interface Target {
  /** Values that the first fields have to be equal to, or beyond. */
  readonly prefix: readonly Value[];
  /** Where the next field begins; without it, everything equal to the prefix is skipped. */
  readonly from?: { readonly value: Value; readonly included: boolean };
}

/**
 * Walks over the entries within the bounds of all fields, in the order of the index or against it. An entry that lies
 * outside is answered with a jump to the next place that can be inside, as the server does: an open field in front costs
 * one key per value it has.
 */
export function* scanIndex(
  index: CollectionIndex,
  bounds: readonly (readonly Interval[])[],
  direction: Direction,
  counts: ScanCounts,
): Generator<IndexEntry> {
  const directions = index.definition.fields.map((field) => field.direction * direction);
  const inOrder = bounds.map((intervals, i) => (directions[i] === 1 ? intervals : intervals.toReversed()));
  if (inOrder.some((intervals) => intervals.length === 0)) return;

  const isBefore = (entry: IndexEntry, { prefix, from }: Target): boolean => {
    for (const [i, value] of prefix.entries()) {
      const order = (directions[i] ?? 1) * compareBounds(entry.key[i], value);
      if (order !== 0) return order < 0;
    }
    if (from === undefined) return true;
    const order = (directions[prefix.length] ?? 1) * compareBounds(entry.key[prefix.length], from.value);
    return from.included ? order < 0 : order <= 0;
  };
  const seek = (target: Target): Position => {
    if (direction === 1) return index.entries.partition((entry) => isBefore(entry, target));
    return index.entries.step(
      index.entries.partition((entry) => !isBefore(entry, target)),
      -1,
    );
  };
  const startOf = (field: number, interval: Interval): NonNullable<Target["from"]> =>
    directions[field] === 1
      ? { value: interval.low, included: interval.lowIncluded }
      : { value: interval.high, included: interval.highIncluded };

  /** The first place behind `prefix` where this field and those after it are at the start of their bounds. */
  const startBehind = (prefix: readonly Value[], interval: Interval | undefined): Target => {
    const field = prefix.length;
    if (interval === undefined)
      return { prefix: prefix.slice(0, -1), from: { value: prefix.at(-1), included: true } };
    if (!isPoint(interval)) return { prefix, from: startOf(field, interval) };
    return startBehind([...prefix, interval.low], inOrder[field + 1]?.[0]);
  };

  /** `undefined`: inside; `"end"`: nothing more to come. */
  const findJump = (entry: IndexEntry): Target | "end" | undefined => {
    for (const [i, intervals] of inOrder.entries()) {
      const value = entry.key[i];
      const next = intervals.find((interval) => place(value, interval) * (directions[i] ?? 1) <= 0);
      const prefix = entry.key.slice(0, i);
      if (next === undefined) return i === 0 ? "end" : { prefix };
      if (place(value, next) !== 0) return startBehind(prefix, next);
    }
    return undefined;
  };

  // One stretch of the index: the server knows its end beforehand and looks at nothing behind it.
  const firstRange = inOrder.findIndex(([first]) => first === undefined || !isPoint(first));
  const isOneStretch = inOrder.every((intervals, i) =>
    firstRange >= 0 && i > firstRange ? intervals[0] === everything : intervals.length === 1,
  );
  let position = seek(startBehind([], inOrder[0]?.[0]));
  for (;;) {
    const entry = index.entries.at(position);
    if (entry === undefined) return;
    const jump = findJump(entry);
    if (jump !== undefined && isOneStretch) return;
    counts.keysExamined++;
    if (jump === "end") return;
    if (jump === undefined) {
      yield entry;
      position = index.entries.step(position, direction);
    } else {
      position = seek(jump);
    }
  }
}
