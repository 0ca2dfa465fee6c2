import { compareValues, typeRank } from "../bson-values/compare.ts";
import type { Value } from "../bson-values/types.ts";

/** The edge between two types of the order: behind all values of lower rank, before all of higher rank. */
class TypeEdge {
  readonly rank: number;

  constructor(rank: number) {
    this.rank = rank;
  }
}

export interface Interval {
  readonly low: Value;
  readonly high: Value;
  readonly lowIncluded: boolean;
  readonly highIncluded: boolean;
}

const rankOf = (value: Value): number => (value instanceof TypeEdge ? value.rank : typeRank(value));

export const compareBounds = (a: Value, b: Value): number =>
  a instanceof TypeEdge || b instanceof TypeEdge ? Math.sign(rankOf(a) - rankOf(b)) : compareValues(a, b);

export const everything: Interval = {
  low: new TypeEdge(-2),
  high: new TypeEdge(200),
  lowIncluded: true,
  highIncluded: true,
};

export const point = (value: Value): Interval => ({
  low: value,
  high: value,
  lowIncluded: true,
  highIncluded: true,
});

export const isPoint = ({ low, high }: Interval): boolean =>
  !(low instanceof TypeEdge) && !(high instanceof TypeEdge) && compareValues(low, high) === 0;

export const ofRank = (rank: number): Interval => ({
  low: new TypeEdge(rank - 0.5),
  high: new TypeEdge(rank + 0.5),
  lowIncluded: true,
  highIncluded: true,
});

/** Where a value lies: before the interval, inside, or behind it. */
export const place = (value: Value, interval: Interval): -1 | 0 | 1 => {
  const low = compareBounds(value, interval.low);
  if (low < 0 || (low === 0 && !interval.lowIncluded)) return -1;
  const high = compareBounds(value, interval.high);
  return high > 0 || (high === 0 && !interval.highIncluded) ? 1 : 0;
};

const intersectTwo = (a: Interval, b: Interval): Interval | undefined => {
  const low = compareBounds(a.low, b.low);
  const high = compareBounds(a.high, b.high);
  const result: Interval = {
    low: low >= 0 ? a.low : b.low,
    lowIncluded: low > 0 ? a.lowIncluded : low < 0 ? b.lowIncluded : a.lowIncluded && b.lowIncluded,
    high: high <= 0 ? a.high : b.high,
    highIncluded: high < 0 ? a.highIncluded : high > 0 ? b.highIncluded : a.highIncluded && b.highIncluded,
  };
  const order = compareBounds(result.low, result.high);
  const isEmpty = order > 0 || (order === 0 && !(result.lowIncluded && result.highIncluded));
  return isEmpty ? undefined : result;
};

export const intersect = (a: readonly Interval[], b: readonly Interval[]): Interval[] =>
  a.flatMap((left) =>
    b.map((right) => intersectTwo(left, right)).filter((interval) => interval !== undefined),
  );

/** Sorted, without doubles; good enough for points and for ranges of types, which do not overlap otherwise. */
export const normalise = (intervals: readonly Interval[]): Interval[] =>
  intervals
    .toSorted((a, b) => compareBounds(a.low, b.low))
    .filter((interval, i, sorted) => {
      const before = sorted[i - 1];
      return before === undefined || compareBounds(before.low, interval.low) !== 0;
    });

export const describeInterval = ({ low, high, lowIncluded, highIncluded }: Interval): string => {
  const text = (value: Value) => {
    if (!(value instanceof TypeEdge)) return JSON.stringify(value) ?? "undefined";
    return value.rank < 0 ? "MinKey" : value.rank > 127 ? "MaxKey" : `type ${Math.ceil(value.rank)}`;
  };
  return `${lowIncluded ? "[" : "("}${text(low)}, ${text(high)}${highIncluded ? "]" : ")"}`;
};
