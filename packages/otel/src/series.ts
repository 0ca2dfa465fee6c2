import type { Attributes } from "@opentelemetry/api";

/** Values found by two names, without building a key out of them: this is on the path of every job. */
export interface PairTable<T> {
  get(first: string, second: string): T;
  all(): Iterable<T>;
}

/** Makes each value once, when it is first asked for. */
export const createPairTable = <T>(create: (first: string, second: string) => T): PairTable<T> => {
  const byFirst = new Map<string, Map<string, T>>();
  const values: T[] = [];

  const add = (first: string, second: string): T => {
    const value = create(first, second);
    values.push(value);
    const bySecond = byFirst.get(first);
    if (bySecond) bySecond.set(second, value);
    else byFirst.set(first, new Map([[second, value]]));
    return value;
  };

  return {
    get: (first, second) => byFirst.get(first)?.get(second) ?? add(first, second),
    all: () => values,
  };
};

/**
 * One series of a metric. Its attributes are made once: a new object for every job would cost more than the counting.
 */
export interface Series {
  readonly attributes: Attributes;
  value: number;
}

export type SeriesTable = PairTable<Series>;

export const createSeriesTable = (toAttributes: (first: string, second: string) => Attributes): SeriesTable =>
  createPairTable((first, second) => ({ attributes: toAttributes(first, second), value: 0 }));

/** By queue and job type, as most of what is measured. */
export const createJobSeries = (): SeriesTable =>
  createSeriesTable((queue, typeName) => ({ queue, typeName }));

export interface Tally {
  add(attributes: Attributes, amount?: number): void;
  all(): Iterable<Series>;
}

/** Series found by whatever attributes they have; for what does not happen with every job. */
export const createTally = (): Tally => {
  const byKey = new Map<string, Series>();
  return {
    add: (attributes, amount = 1) => {
      const key = JSON.stringify(attributes);
      const series = byKey.get(key);
      if (series) series.value += amount;
      else byKey.set(key, { attributes, value: amount });
    },
    all: () => byKey.values(),
  };
};
