import type { NewJob } from "../contract/creation.ts";
import type { WaitingJobChange, WaitingJobResult } from "../contract/edits.ts";
import type { JobStatus, Schedule, StateJob } from "../contract/job.ts";
import { resolveSchedule } from "./transitions.ts";

// What can be changed in a job that waits: blocked, pending, or pending again for a retry. A job that runs has read its
// input, so nothing here is ever applied to it.

/** Whether a job of this status waits for its next attempt. */
export const isWaiting = (status: JobStatus): boolean => status === "pending" || status === "blocked";

/**
 * When a job expires; null while it cannot. The time begins when the job can run: at `scheduledAt`, which for a job with
 * blockers is not before the last of them has completed. A job that has begun does not expire; one that was given back
 * has not begun, nor has one that was redriven.
 */
export const expiresAt = ({
  status,
  attempt,
  scheduledAt,
  expireAfterMs,
}: Pick<StateJob, "status" | "attempt" | "scheduledAt" | "expireAfterMs">): number | null =>
  status === "pending" && attempt === 0 && expireAfterMs !== null ? scheduledAt + expireAfterMs : null;

/** Whether a pending job has waited too long for its first attempt. It fails instead of running. */
export const isOverdue = (job: Parameters<typeof expiresAt>[0], now: number): boolean =>
  (expiresAt(job) ?? Infinity) <= now;

/** With another input the job begins anew. What earlier attempts have reported was about the other one. */
const withInput = (row: StateJob, input: string, replacedBy: string): StateJob => ({
  ...row,
  input,
  replacedBy,
  attempt: 0,
  expiredLeases: 0,
  progress: null,
});

/** A job that is due keeps its place in line when it is told to run now. */
const rescheduled = (row: StateJob, schedule: Schedule, now: number): number => {
  const wanted = resolveSchedule(schedule, now);
  return wanted <= now ? Math.min(row.scheduledAt, now) : wanted;
};

/** Never later than `maxDelayMs` after the creation, however often it is put off. By then it is due, and stays in its place. */
const debounced = (row: StateJob, schedule: Schedule, maxDelayMs: number, now: number): number => {
  const latest = row.createdAt + maxDelayMs;
  return latest <= now ? Math.min(row.scheduledAt, now) : Math.min(resolveSchedule(schedule, now), latest);
};

/**
 * The duplicate after a start has taken its place; undefined where it is kept. The start brings its input and how the job
 * is run. Where the job is, and what it belongs to, stays: id, queue, time, blockers, tree.
 */
export const replaced = (row: StateJob, start: NewJob, now: number): StateJob | undefined => {
  const onDuplicate = start.deduplication?.onDuplicate;
  if (onDuplicate === undefined || !isWaiting(row.status)) return undefined;
  return {
    ...withInput(row, start.input, start.id),
    traceContext: start.traceContext,
    priority: start.priority,
    maxAttempts: start.maxAttempts,
    maxAttemptsGiven: start.maxAttemptsGiven ?? true,
    timeoutMs: start.timeoutMs,
    leaseMs: start.leaseMs,
    expireAfterMs: start.expireAfterMs ?? null,
    scheduledAt:
      onDuplicate === "replace"
        ? row.scheduledAt
        : debounced(row, start.schedule, onDuplicate.debounce.maxDelayMs, now),
  };
};

/** Why an update changes nothing; undefined when the job is to be changed. */
export const checkUpdate = (
  row: StateJob | undefined,
  { input }: WaitingJobChange,
): Exclude<WaitingJobResult["kind"], "changed"> | undefined => {
  if (row === undefined) return "not_found";
  if (!isWaiting(row.status)) return "not_waiting";
  return input === undefined || input.typeName === row.typeName ? undefined : "other_type";
};

/** The row after a change of a waiting job. */
export const updated = (row: StateJob, change: WaitingJobChange, now: number): StateJob => {
  const { schedule, priority, input } = change;
  return {
    ...(input === undefined ? row : withInput(row, input.text, row.id)),
    priority: priority ?? row.priority,
    scheduledAt: schedule === undefined ? row.scheduledAt : rescheduled(row, schedule, now),
  };
};
