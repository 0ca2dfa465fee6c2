import type { Counter } from "../engine/engine.ts";
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
  readonly released: number;
  /** Leases that ran out, so that others took the jobs back. */
  readonly reaped: number;
  /** From when jobs could have run until they were claimed. */
  readonly timeToStart: Histogram;
  /** How long attempts ran. */
  readonly runTime: Histogram;
}

/**
 * The slot of each count. Stored counts are a JSON array of slots, each followed by its number, without zeros: `[0,12,1,11]` is
 * twelve created jobs and eleven completed ones. Wire format: processes of different versions share a store, so a slot never
 * changes its meaning, and a new count gets a new slot.
 */
const counterSlots: Readonly<Record<Counter, number>> = {
  created: 0,
  completed: 1,
  retried: 2,
  released: 3,
  reaped: 4,
  attempts_exhausted: 10,
  unrecoverable: 11,
  blocker_failed: 12,
  cancelled: 13,
  no_handler: 14,
  invalid_input: 15,
  expired: 16,
};

/** The slots of step 0; the other steps follow. */
const timeToStartSlot = 40;

const runTimeSlot: number = timeToStartSlot + lastStep + 1;

const slotCount: number = runTimeSlot + lastStep + 1;

/** More than any version uses: a number beyond it is no slot. */
const mostSlots = 1_000;

/** Numbers by slot. Longer where a later version has counted something else. */
export type SlotCounts = number[];

export const emptyCounts = (): SlotCounts => Array.from({ length: slotCount }, () => 0);

export const addOne = (counts: SlotCounts, counter: Counter): void => {
  counts[counterSlots[counter]]! += 1;
};

export const addAttempt = (counts: SlotCounts, waitedMs: number, ranMs: number): void => {
  counts[timeToStartSlot + stepOf(waitedMs)]! += 1;
  counts[runTimeSlot + stepOf(ranMs)]! += 1;
};

export const addCounts = (counts: SlotCounts, more: SlotCounts): void => {
  for (let slot = 0; slot < more.length; slot += 1) counts[slot] = (counts[slot] ?? 0) + more[slot]!;
};

const isSlot = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < mostSlots;

/** Adds counts as they are stored. Text of another origin counts nothing. */
export const addStored = (counts: SlotCounts, text: string): void => {
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch {
    return;
  }
  if (!Array.isArray(stored)) return;
  for (let index = 0; index + 1 < stored.length; index += 2) {
    const slot: unknown = stored[index];
    const count: unknown = stored[index + 1];
    if (!isSlot(slot) || !Number.isFinite(count)) continue;
    while (counts.length <= slot) counts.push(0);
    counts[slot]! += count as number;
  }
};

export const encodeCounts = (counts: SlotCounts): string => {
  const stored: number[] = [];
  for (const [slot, count] of counts.entries()) if (count !== 0) stored.push(slot, count);
  return JSON.stringify(stored);
};

export const mergeCounts = (texts: readonly string[]): SlotCounts => {
  const sum = emptyCounts();
  for (const text of texts) addStored(sum, text);
  return sum;
};

const histogramAt = (counts: SlotCounts, first: number): Histogram => {
  const steps: Record<string, number> = {};
  for (let step = 0; step <= lastStep; step += 1) {
    const count = counts[first + step]!;
    if (count > 0) steps[step] = count;
  }
  return steps;
};

export const readCounts = (counts: SlotCounts): Counts => {
  const numberOf = (counter: Counter): number => counts[counterSlots[counter]]!;
  return {
    created: numberOf("created"),
    completed: numberOf("completed"),
    failed: Object.fromEntries(
      failureReasons.map((reason) => [reason, numberOf(reason)]),
    ) as Counts["failed"],
    retried: numberOf("retried"),
    released: numberOf("released"),
    reaped: numberOf("reaped"),
    timeToStart: histogramAt(counts, timeToStartSlot),
    runTime: histogramAt(counts, runTimeSlot),
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
export const bucketSizes: readonly { readonly bucketMs: number; readonly keptMs: number }[] = [
  { bucketMs: bucketMs, keptMs: hour },
  { bucketMs: minute, keptMs: 2 * day },
  { bucketMs: hour, keptMs: 90 * day },
];

/** Causes that have not come up for longer are forgotten, once no failed job has them. As long as counts are kept. */
export const causeKeptMs: number = 90 * day;

/** How often a process reports the same cause again. */
export const causeReportMs: number = day;

/** Processes that have been silent for longer are forgotten. */
export const reporterKeptMs: number = day;
