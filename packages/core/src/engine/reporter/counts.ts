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

/** Adds numbers to numbers. Whatever else there is counts nothing, and neither does what is too deep. */
const addTree = (counts: StoredCounts, tree: object, depth: number): void => {
  if (depth > deepest) return;
  for (const name in tree) {
    if (!Object.hasOwn(tree, name)) continue;
    const value = (tree as Record<string, unknown>)[name];
    const present = counts[name];
    if (typeof value === "number") {
      if (Number.isFinite(value) && typeof present !== "object") counts[name] = (present ?? 0) + value;
    } else if (isObject(value)) {
      if (typeof present === "object") addTree(present, value, depth + 1);
      else if (present === undefined) addTree((counts[name] = emptyCounts()), value, depth + 1);
    }
  }
};

/** Adds `more` to `counts`, which were made by `emptyCounts`. */
export const addCounts = (counts: StoredCounts, more: StoredCounts): void => addTree(counts, more, 0);

/** The same with counts as they are stored. Thousands of them are added at a time. */
export const addStoredText = (counts: StoredCounts, text: string): void => {
  let tree: unknown;
  try {
    tree = JSON.parse(text);
  } catch {
    // Text of another origin counts nothing.
    return;
  }
  if (isObject(tree)) addTree(counts, tree, 0);
};

export const encodeCounts = (counts: StoredCounts): string => JSON.stringify(counts);

export const mergeCounts = (texts: readonly string[]): StoredCounts => {
  const sum = emptyCounts();
  for (const text of texts) addStoredText(sum, text);
  return sum;
};

export const parseCounts = (text: string): StoredCounts => mergeCounts([text]);

const numberAt = (counts: StoredCounts, name: string): number => {
  const value = counts[name];
  return typeof value === "number" ? value : 0;
};

const numbersAt = (counts: StoredCounts, name: string): Record<string, number> => {
  const value = counts[name];
  const numbers: Record<string, number> = {};
  if (typeof value !== "object") return numbers;
  for (const [key, count] of Object.entries(value)) if (typeof count === "number") numbers[key] = count;
  return numbers;
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
