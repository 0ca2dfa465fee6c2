import type { AttemptOutcome, StateAttempt } from "../../store/contract/history.ts";
import type { JobOutcome } from "../../store/contract/outcomes.ts";
import { hasRunOut } from "./leases.ts";
import type { ModelAttempt, ModelJob, ModelStore } from "./store.ts";

const add = (store: ModelStore, attempt: ModelAttempt): void => {
  store.attempts.set(attempt.jobId, [attempt, ...attemptsOfJob(store, attempt.jobId)]);
};

export const attemptsOfJob = (store: ModelStore, jobId: string): readonly ModelAttempt[] =>
  store.attempts.get(jobId) ?? [];

const lost = (job: ModelJob): StateAttempt => ({
  jobId: job.id,
  attempt: job.attempt,
  leaseVersion: job.leaseVersion,
  workerId: job.leasedBy!,
  deployment: job.deployment,
  dueAt: job.scheduledAt,
  startedAt: job.lastAttemptAt!,
  endedAt: job.leasedUntil!,
  outcome: "expired",
  fingerprint: null,
  error: null,
  log: null,
});

/** The attempt of a running job ends with its lease. */
export const addLost = (store: ModelStore, job: ModelJob): void =>
  add(store, { ...lost(job), isCertain: true });

/** The attempt of a running job ends because another call took its lease, unless that had run out. */
export const addInterrupted = (
  store: ModelStore,
  job: ModelJob,
  outcome: AttemptOutcome,
  now: number,
): void => {
  if (job.status !== "running") return;
  if (hasRunOut(job, now)) addLost(store, job);
  else add(store, { ...lost(job), outcome, endedAt: now, isCertain: true });
};

/** A claim may have found the expired lease of a running job, and have written the attempt without taking the job. */
export const addPerhapsLost = (store: ModelStore, job: ModelJob, now: number): void => {
  if (hasRunOut(job, now)) add(store, { ...lost(job), isCertain: false });
};

export const addEnded = (
  store: ModelStore,
  { jobId, note }: JobOutcome,
  outcome: AttemptOutcome,
  now: number,
): void => {
  if (note !== undefined) add(store, { ...note, jobId, outcome, endedAt: now, isCertain: true });
};
