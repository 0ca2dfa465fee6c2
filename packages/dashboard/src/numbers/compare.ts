import type { JobStatistics } from "leasehold";
import type { AnyLeasehold } from "../http/leasehold.ts";
import type { Range } from "./range.ts";

/** What one deployment did with the jobs of one type. */
export interface Side {
  /** Jobs that completed or failed. */
  readonly ended: number;
  readonly failed: number;
  /** All attempts: the number of run times. */
  readonly attempts: number;
  readonly runP50: number | null;
  readonly runP95: number | null;
}

export type FailureVerdict = "too_few" | "same" | "more" | "fewer";

export type RunTimeVerdict = "too_few" | "same" | "slower" | "faster";

/** The second deployment compared with the first. */
export interface TypeComparison {
  readonly queue: string;
  readonly typeName: string;
  readonly one: Side;
  readonly other: Side;
  readonly failures: FailureVerdict;
  readonly runTime: RunTimeVerdict;
}

const nothing: Side = { ended: 0, failed: 0, attempts: 0, runP50: null, runP95: null };

/** Below this, chance alone makes shares and percentiles differ a lot. */
export const fewestSamples = 30;
/** Few samples lie beyond a percentile in the tail, so it needs more of them. */
const fewestForTail = 100;
/** By how many standard errors shares must differ: chance alone exceeds it in one of a hundred comparisons. */
const clearDifference = 2.58;
/** Estimates come from histograms with steps of √2: each can be off by one. */
const clearFactor = 2;

export const judgeFailures = (one: Side, other: Side): FailureVerdict => {
  if (one.ended < fewestSamples || other.ended < fewestSamples) return "too_few";
  const share = (one.failed + other.failed) / (one.ended + other.ended);
  const error = Math.sqrt(share * (1 - share) * (1 / one.ended + 1 / other.ended));
  const difference = other.failed / other.ended - one.failed / one.ended;
  if (error === 0 || Math.abs(difference) < clearDifference * error) return "same";
  return difference > 0 ? "more" : "fewer";
};

export const judgeRunTime = (one: Side, other: Side): RunTimeVerdict => {
  const samples = Math.min(one.attempts, other.attempts);
  if (samples < fewestSamples) return "too_few";
  const pairs = [
    [one.runP50, other.runP50],
    ...(samples < fewestForTail ? [] : [[one.runP95, other.runP95]]),
  ];
  const factors = pairs.flatMap(([a, b]) => (a && b ? [b / a] : []));
  if (factors.some((factor) => factor >= clearFactor)) return "slower";
  return factors.some((factor) => factor <= 1 / clearFactor) ? "faster" : "same";
};

const sideOf = ({ completed, failed, retried, estimated: { runTimeMs } }: JobStatistics): Side => ({
  ended: completed + failed,
  failed,
  attempts: completed + failed + retried,
  runP50: runTimeMs?.p50 ?? null,
  runP95: runTimeMs?.p95 ?? null,
});

/** Compares rows by type; the types with the most jobs in the second deployment first. */
export const compareDeployments = (
  rows: readonly JobStatistics[],
  one: string | null,
  other: string | null,
): TypeComparison[] => {
  const types = new Map<string, { queue: string; typeName: string; one: Side; other: Side }>();
  for (const row of rows) {
    if (row.deployment !== one && row.deployment !== other) continue;
    const { queue, typeName } = row;
    const key = JSON.stringify([queue, typeName]);
    const type = types.get(key) ?? { queue, typeName, one: nothing, other: nothing };
    const side = sideOf(row);
    types.set(key, {
      ...type,
      ...(row.deployment === one && { one: side }),
      ...(row.deployment === other && { other: side }),
    });
  }
  return [...types.values()]
    .filter((type) => type.one.attempts + type.other.attempts > 0)
    .map((type) => ({
      ...type,
      failures: judgeFailures(type.one, type.other),
      runTime: judgeRunTime(type.one, type.other),
    }))
    .sort((a, b) => b.other.ended - a.other.ended || b.one.ended - a.one.ended);
};

interface Counted {
  readonly from: Date;
  readonly deployment: string | null;
}

const hourMs = 3_600_000;

/** When each deployment first appears in a range of time, without deployments that are older. */
export const findNewDeployments = async (
  leasehold: AnyLeasehold,
  rows: readonly Counted[],
  { from, before }: Range,
): Promise<{ readonly deployment: string; readonly at: Date }[]> => {
  const first = new Map<string, Date>();
  for (const { deployment, from: at } of rows)
    if (deployment !== null && !first.has(deployment)) first.set(deployment, at);
  // A deployment that is there at the beginning is not new, or its start is unknown.
  for (const [deployment, at] of first) if (at.getTime() <= from) first.delete(deployment);
  if (first.size === 0) return [];
  // A deployment with little work may have done nothing at the beginning.
  const earlier = await leasehold.history.getStatistics({
    from: new Date(from - Math.max(before - from, hourMs)),
    before: new Date(from),
    byType: false,
    byDeployment: true,
  });
  for (const { deployment } of earlier) if (deployment !== null) first.delete(deployment);
  return [...first].map(([deployment, at]) => ({ deployment, at }));
};
