import type { NewJob } from "../../store/contract/creation.ts";
import type { Schedule } from "../../store/contract/job.ts";
import { cascadeFailure, failByBlocker } from "./cascade.ts";
import {
  allJobs,
  blockersOf,
  currentJob,
  isFailedSequence,
  isOver,
  type ModelJob,
  type ModelStore,
} from "./store.ts";

export const momentOf = (schedule: Schedule, now: number): number =>
  "at" in schedule ? Math.max(schedule.at, now) : now + schedule.afterMs;

/** The sequences of the same type and key that make a new job a duplicate; any of them may be the answer. */
export const duplicatesOf = (store: ModelStore, job: NewJob, now: number): ModelJob[] => {
  const { deduplication } = job;
  if (deduplication === null) return [];
  return allJobs(store).filter(
    (first) =>
      first.sequenceIndex === 0 &&
      first.sequenceTypeName === job.sequenceTypeName &&
      first.deduplicationKey === deduplication.key &&
      (deduplication.windowMs === null || first.createdAt > now - deduplication.windowMs) &&
      isInScope(store, first, deduplication.scope),
  );
};

const isInScope = (store: ModelStore, first: ModelJob, scope: "pending" | "unfinished" | "all"): boolean => {
  if (scope === "all") return true;
  return scope === "pending" ? isWaiting(first) : isLive(store, first);
};

/** Whether a job of this status waits for its next attempt. */
export const isWaiting = ({ status }: ModelJob): boolean => status === "blocked" || status === "pending";

export const isLive = (store: ModelStore, { sequenceId }: ModelJob): boolean => {
  const current = currentJob(store, sequenceId);
  return current !== undefined && !isOver(current);
};

export const createJob = (store: ModelStore, job: NewJob, now: number): ModelJob => {
  const { schedule, awaitsBlockers, deduplication, ...given } = job;
  const created: ModelJob = {
    ...given,
    status: awaitsBlockers ? "blocked" : "pending",
    output: null,
    progress: null,
    createdAt: now,
    sequenceCreatedAt: job.sequenceCreatedAt ?? now,
    scheduledAt: momentOf(schedule, now),
    attempt: 0,
    maxAttemptsGiven: job.maxAttemptsGiven ?? true,
    leaseToken: null,
    leaseVersion: 0,
    leasedBy: null,
    deployment: null,
    leasedUntil: null,
    expiredLeases: 0,
    lastAttemptAt: null,
    lastError: null,
    lastFailedAt: null,
    completedAt: null,
    completedBy: null,
    continuedToId: null,
    failedAt: null,
    failureReason: null,
    failedBlockerIds: [],
    errorIsBlockers: false,
    deduplicationKey: deduplication?.key ?? null,
    limited: false,
    recurrence: job.recurrence ?? null,
    replacedBy: null,
    expireAfterMs: job.expireAfterMs ?? null,
    blockerCount: 0,
    openBlockers: 0,
  };
  store.jobs.set(job.id, created);
  return created;
};

/** The sequences that this one waits for, directly or through blocked jobs. */
const awaited = (store: ModelStore, sequenceId: string): Set<string> => {
  const found = new Set<string>();
  const visit = (id: string): void => {
    const current = currentJob(store, id);
    if (current?.status !== "blocked") return;
    for (const blocker of blockersOf(store, current)) {
      if (found.has(blocker)) continue;
      found.add(blocker);
      visit(blocker);
    }
  };
  visit(sequenceId);
  return found;
};

/** Whether a sequence is, or waits through blocked jobs for, the one that is not to wait for itself. */
export const waitsFor = (store: ModelStore, sequenceId: string, target: string): boolean =>
  sequenceId === target || awaited(store, sequenceId).has(target);

export const addBlockers = (
  store: ModelStore,
  job: ModelJob,
  blockerSequenceIds: readonly string[],
  now: number,
): void => {
  store.blockers.set(job.id, blockerSequenceIds);
  for (const id of blockerSequenceIds) store.everAwaited.add(id);
  const open = blockerSequenceIds.filter((id) => currentJob(store, id)?.status !== "completed");
  job.blockerCount = blockerSequenceIds.length;
  job.openBlockers = open.length;
  job.status = open.length > 0 ? "blocked" : "pending";
  if (job.onBlockerFailure === "fail" && open.some((id) => isFailedSequence(store, id))) {
    failByBlocker(store, job, now);
    cascadeFailure(store, job.sequenceId, now);
  }
};
