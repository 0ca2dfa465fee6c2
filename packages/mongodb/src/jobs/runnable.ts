import type { ClaimScope, CountAheadCall, MaxAttempts, NextRunnableCall, Schedule } from "leasehold/adapter";
import type { Document } from "mongodb";
import { inSession } from "../database/collections.ts";
import type { Store, StoreCall } from "../database/database.ts";

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

/** When a job with this schedule expires; null for a job that does not. */
export const expiryExpression = (
  scheduledAt: unknown,
  expireAfterMs: unknown = "$expireAfterMs",
): Document => {
  const expiresAt = { $min: [{ $add: [scheduledAt, expireAfterMs] }, { $literal: latest }] };
  return { $cond: [{ $gt: [expireAfterMs, null] }, expiresAt, null] };
};

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

/** Counts the jobs that would go first at the moment this one falls due, as far as that can be foreseen. */
export const countAhead = async (store: Store, call: StoreCall & CountAheadCall): Promise<number | null> => {
  const { jobs } = store.collections;
  const options = inSession(call.session);
  const now = call.now ?? (await store.clock.ask());
  const job = await jobs.findOne({ _id: call.jobId }, options);
  if (job === null || job.status !== "pending") return null;
  const { queue, priority, scheduledAt, position } = job;
  const moment = new Date(Math.max(now, scheduledAt.getTime()));
  return jobs.countDocuments(
    {
      queue: { $eq: queue },
      live: true,
      typeName: {
        ...(call.typeNames === undefined ? {} : { $in: [...call.typeNames] }),
        $nin: [...(call.exceptTypeNames ?? [])],
      },
      $and: [
        // A lease that still holds will probably end with its job, not in another claim.
        {
          $or: [
            { status: "pending", dueAt: { $lte: moment } },
            { status: "running", dueAt: { $lte: new Date(now) } },
          ],
        },
        {
          $or: [
            { priority: { $gt: priority } },
            { priority, dueAt: { $lt: scheduledAt } },
            { priority, dueAt: scheduledAt, position: { $lt: position } },
          ],
        },
      ],
      $expr: canBeClaimed(undefined),
    },
    { ...options, limit: call.cap },
  );
};

export const nextRunnableIn = async (
  store: Store,
  call: StoreCall & NextRunnableCall,
): Promise<number | null> => {
  const now = call.now ?? (await store.clock.ask());
  const nexts = await Promise.all(
    call.requests.map((scope) =>
      store.collections.jobs.findOne(
        { ...scopeFilter(scope), $expr: canBeClaimed(call.maxAttempts) },
        { ...inSession(call.session), sort: { dueAt: 1 }, projection: { dueAt: 1 } },
      ),
    ),
  );
  const times = nexts.flatMap((job) => (job?.dueAt instanceof Date ? [job.dueAt.getTime()] : []));
  return times.length === 0 ? null : Math.max(0, Math.min(...times) - now);
};
