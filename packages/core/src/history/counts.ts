import { type FailureReason, failureReasons } from "../store/contract/job.ts";

/**
 * How often something took how long, in steps of √2 from 1 ms to 12 days. The step with number n holds what took at most
 * 2^(n/2) ms and longer than the step before; the last one holds everything longer, too. Steps without a count are left out.
 */
export type Histogram = Readonly<Record<string, number>>;

/** 2^30 ms are 12.4 days. */
export const lastStep = 60;

export const stepOf = (ms: number): number => (ms > 1 ? Math.min(lastStep, Math.ceil(2 * Math.log2(ms))) : 0);

/** The longest duration of a step, in milliseconds. */
export const upperBound = (step: number): number => 2 ** (step / 2);

const lowerBound = (step: number): number => (step === 0 ? 0 : upperBound(step - 1));

export const countOf = (histogram: Histogram): number => {
  let all = 0;
  for (const step in histogram) all += histogram[step]!;
  return all;
};

/**
 * The durations below which shares of all lie, in milliseconds; the shares are given in ascending order. Estimates: within a
 * step, durations are taken to be distributed evenly. Null where nothing was counted.
 */
export const estimatePercentiles = (histogram: Histogram, shares: readonly number[]): number[] | null => {
  const all = countOf(histogram);
  const found: number[] = [];
  let below = 0;
  // Whole numbers come in ascending order, whatever the order in which they were written.
  for (const name in histogram) {
    const count = histogram[name]!;
    if (count <= 0) continue;
    const step = Number(name);
    while (found.length < shares.length && below + count >= shares[found.length]! * all) {
      const part = Math.max(0, shares[found.length]! * all - below) / count;
      found.push(lowerBound(step) + part * (upperBound(step) - lowerBound(step)));
    }
    below += count;
  }
  return found.length < shares.length ? null : found;
};

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

const second = 1_000;

const minute = 60 * second;

const hour = 60 * minute;

const day = 24 * hour;

/** The stretch of time that processes report for. */
export const bucketMs: number = 10 * second;

/** Older stretches are not reported any more: they may have been folded. */
export const oldestReportMs: number = 90 * second;

/** From then on the rows of several processes are one. */
export const foldReportersAfterMs: number = 2 * minute;

/** The widths of stretches, and how long rows of each are kept before they are folded into the next. */
export const widths: readonly { readonly width: number; readonly keptMs: number }[] = [
  { width: bucketMs, keptMs: hour },
  { width: minute, keptMs: 2 * day },
  { width: hour, keptMs: 90 * day },
];

/** Causes that have not come up for longer are forgotten, once no failed job has them. As long as counts are kept. */
export const causeKeptMs: number = 90 * day;

/** How often a process reports the same cause again. */
export const causeReportMs: number = day;

/** Processes that have been silent for longer are forgotten. */
export const reporterKeptMs: number = day;
