import type { ClaimScope, MaxAttempts, Schedule } from "leasehold/adapter";
import type { Document } from "mongodb";

/** The server's time in an expression, or the one that the call gave. */
export const nowExpression = (now: number | undefined): unknown =>
  now === undefined ? "$$NOW" : { $literal: new Date(now) };

// The largest date JavaScript can hold.
const latest = new Date(8_640_000_000_000_000);

/** When a job with this schedule is due, never in the past. */
export const scheduledExpression = (schedule: Schedule, now: unknown): unknown =>
  "at" in schedule
    ? { $max: [{ $literal: new Date(schedule.at) }, now] }
    : { $min: [{ $add: [now, schedule.afterMs] }, { $literal: latest }] };

/** Whether a job has attempts left, in the eyes of a call with these overrides. */
const hasAttemptsLeft = (maxAttempts: MaxAttempts | undefined): Document => {
  const overrides = Object.entries(maxAttempts ?? {}).map(([name, attempts]) => ({
    case: { $eq: ["$typeName", { $literal: name }] },
    then: { $literal: attempts },
  }));
  const byType =
    overrides.length === 0 ? "$maxAttempts" : { $switch: { branches: overrides, default: "$maxAttempts" } };
  return { $lt: ["$attempt", { $cond: ["$maxAttemptsGiven", "$maxAttempts", byType] }] };
};

/** Pending, or running with attempts left for when its lease ends. */
export const canBeClaimed = (maxAttempts: MaxAttempts | undefined): Document => ({
  $or: [{ $eq: ["$status", "pending"] }, hasAttemptsLeft(maxAttempts)],
});

export const scopeFilter = ({ queue, typeNames }: ClaimScope): Document => ({
  queue: { $eq: queue },
  ...(typeNames === null ? {} : { typeName: { $in: [...typeNames] } }),
  live: true,
});

export const claimOrder = { priority: -1, dueAt: 1, position: 1 } as const;
