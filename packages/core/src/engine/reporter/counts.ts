import { type FailureReason, failureReasons } from "../../model/job.ts";
import type { Histogram } from "./histogram.ts";

/** What happened to the jobs of a type in a stretch of time. */
export interface Counts {
  readonly created: number;
  readonly completed: number;
  readonly failed: Readonly<Record<FailureReason, number>>;
  readonly retried: number;
  readonly givenBack: number;
  /** Leases that ran out, so that others took the jobs back. */
  readonly reaped: number;
  /** From when jobs could have run until they were claimed. */
  readonly timeToStart: Histogram;
  /** How long attempts ran. */
  readonly runTime: Histogram;
}

/**
 * How counts are stored: numbers in a tree, without zeros. Merging adds number to number, whatever they are called, so a
 * process of an earlier release that folds rows keeps what a later one counts.
 */
export interface StoredCounts {
  [name: string]: number | StoredCounts;
}

const deepest = 4;

/** Without a prototype, so that no name can mean anything but itself. */
export const emptyCounts = (): StoredCounts => Object.create(null) as StoredCounts;

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const readTree = (value: unknown, depth = 0): StoredCounts => {
  const tree = emptyCounts();
  if (!isObject(value) || depth > deepest) return tree;
  for (const [name, child] of Object.entries(value)) {
    if (typeof child === "number" && Number.isFinite(child)) tree[name] = child;
    else if (isObject(child)) tree[name] = readTree(child, depth + 1);
  }
  return tree;
};

/** Text of another origin counts nothing. */
export const parseCounts = (text: string): StoredCounts => {
  try {
    return readTree(JSON.parse(text));
  } catch {
    return emptyCounts();
  }
};

export const encodeCounts = (counts: StoredCounts): string => JSON.stringify(counts);

/** Adds `more` to `counts`, which were made by `emptyCounts`. */
export const addCounts = (counts: StoredCounts, more: StoredCounts): void => {
  for (const [name, value] of Object.entries(more)) {
    const present = counts[name];
    if (typeof value === "number") {
      if (typeof present !== "object") counts[name] = (present ?? 0) + value;
    } else if (typeof present === "object") addCounts(present, value);
    else if (present === undefined) addCounts((counts[name] = emptyCounts()), value);
  }
};

export const mergeCounts = (texts: readonly string[]): StoredCounts => {
  const sum = emptyCounts();
  for (const text of texts) addCounts(sum, parseCounts(text));
  return sum;
};

const numberAt = (counts: StoredCounts, name: string): number => {
  const value = counts[name];
  return typeof value === "number" ? value : 0;
};

const numbersAt = (counts: StoredCounts, name: string): Record<string, number> => {
  const value = counts[name];
  const numbers = typeof value === "object" ? value : {};
  return Object.fromEntries(
    Object.entries(numbers).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
  );
};

/** With a zero for what was not counted. */
export const readCounts = (counts: StoredCounts): Counts => {
  const failed = numbersAt(counts, "failed");
  return {
    created: numberAt(counts, "created"),
    completed: numberAt(counts, "completed"),
    failed: Object.fromEntries(failureReasons.map((reason) => [reason, failed[reason] ?? 0])) as Record<
      FailureReason,
      number
    >,
    retried: numberAt(counts, "retried"),
    givenBack: numberAt(counts, "givenBack"),
    reaped: numberAt(counts, "reaped"),
    timeToStart: numbersAt(counts, "timeToStart"),
    runTime: numbersAt(counts, "runTime"),
  };
};
