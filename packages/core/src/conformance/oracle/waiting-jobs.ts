import type { NewJob } from "../../store/contract/creation.ts";
import type { ExpireCall, WaitingJobChange, WaitingJobResult } from "../../store/contract/edits.ts";
import type { JobReference } from "../../store/contract/job.ts";
import { cascadeFailure } from "./cascade.ts";
import { isWaiting, momentOf } from "./create.ts";
import { allJobs, type ModelJob, type ModelStore, setError } from "./store.ts";

const giveInput = (job: ModelJob, input: string, replacedBy: string): void => {
  job.input = input;
  job.replacedBy = replacedBy;
  job.attempt = 0;
  job.expiredLeases = 0;
  job.progress = null;
};

/** Whether the new job takes the place of the other; then it has. */
export const replaceDuplicate = (job: ModelJob, start: NewJob, now: number): boolean => {
  const onDuplicate = start.deduplication?.onDuplicate;
  if (onDuplicate === undefined || !isWaiting(job)) return false;
  giveInput(job, start.input, start.id);
  job.traceContext = start.traceContext;
  job.priority = start.priority;
  job.maxAttempts = start.maxAttempts;
  job.maxAttemptsGiven = start.maxAttemptsGiven ?? true;
  job.timeoutMs = start.timeoutMs;
  job.leaseMs = start.leaseMs;
  job.expireAfterMs = start.expireAfterMs ?? null;
  if (onDuplicate === "replace") return true;
  const latest = job.createdAt + onDuplicate.debounce.maxDelayMs;
  if (latest > now) job.scheduledAt = Math.min(momentOf(start.schedule, now), latest);
  else if (job.scheduledAt > now) job.scheduledAt = now;
  return true;
};

export const update = (
  store: ModelStore,
  jobIds: readonly string[],
  { schedule, priority, input }: WaitingJobChange,
  now: number,
): WaitingJobResult["kind"][] => {
  const changed = new Set<string>();
  return jobIds.map((id) => {
    const job = store.jobs.get(id);
    if (job === undefined) return "not_found";
    if (!isWaiting(job)) return "not_waiting";
    if (input !== undefined && input.typeName !== job.typeName) return "other_type";
    if (changed.has(id)) return "changed";
    changed.add(id);
    if (input !== undefined) giveInput(job, input.text, id);
    if (priority !== undefined) job.priority = priority;
    if (schedule === undefined) return "changed";
    const moment = momentOf(schedule, now);
    // One that is due already does not lose its place by being told to run now.
    if (moment > now || job.scheduledAt > now) job.scheduledAt = moment;
    return "changed";
  });
};

const hasExpired = (job: ModelJob, now: number): boolean =>
  job.status === "pending" &&
  job.attempt === 0 &&
  job.expireAfterMs !== null &&
  job.scheduledAt + job.expireAfterMs <= now;

export const expire = (
  store: ModelStore,
  job: ModelJob,
  { error }: Pick<ExpireCall, "error">,
  now: number,
): JobReference[] => {
  job.status = "failed";
  job.failedAt = now;
  job.failureReason = "expired";
  setError(job, error);
  return cascadeFailure(store, job.sequenceId, now);
};

export const expiredJobs = (store: ModelStore, now: number): Set<ModelJob> =>
  new Set(allJobs(store).filter((job) => hasExpired(job, now)));
