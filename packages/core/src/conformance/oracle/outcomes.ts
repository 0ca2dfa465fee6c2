import type { JobOutcome, OutcomeResult } from "../../store/contract/outcomes.ts";
import { addEnded, addInterrupted } from "./attempts.ts";
import { cascadeFailure, unblock } from "./cascade.ts";
import { momentOf } from "./create.ts";
import { noteFailure } from "./limit-groups.ts";
import { endLease, notRunning, refusalOf } from "./leases.ts";
import { remove } from "./deletion.ts";
import { allJobs, dependantsOf, isOver, type ModelJob, type ModelStore, setError } from "./store.ts";

const statusAfter = { complete: "completed", fail: "failed", retry: "pending", release: "pending" } as const;

const isRepetition = (job: ModelJob | undefined, { kind, leaseToken }: JobOutcome): boolean =>
  job !== undefined &&
  leaseToken !== null &&
  job.leaseToken === leaseToken &&
  job.status === statusAfter[kind];

const applied = (
  now: number,
  effects: Partial<Pick<OutcomeResult & { kind: "applied" }, "unblocked" | "cascaded">> = {},
): OutcomeResult => ({ kind: "applied", at: now, unblocked: [], cascaded: [], ...effects });

export const commitOutcome = (store: ModelStore, outcome: JobOutcome, now: number): OutcomeResult => {
  const job = store.jobs.get(outcome.jobId);
  if (isRepetition(job, outcome)) return { kind: "repeated" };
  const refused = refuse(job, outcome, now);
  if (refused !== undefined) return refused;
  if (isDiscarded(store, job as ModelJob, outcome)) {
    remove(store, [job as ModelJob]);
    return applied(now);
  }
  return apply(store, job as ModelJob, outcome, now);
};

const isDiscarded = (store: ModelStore, job: ModelJob, outcome: JobOutcome): boolean =>
  outcome.kind === "complete" &&
  outcome.keep === false &&
  outcome.leaseToken !== null &&
  outcome.continuedToId === null &&
  allJobs(store).filter(({ rootSequenceId }) => rootSequenceId === job.rootSequenceId).length === 1 &&
  job.rootSequenceId === job.id &&
  dependantsOf(store, job.sequenceId).length === 0 &&
  job.deduplicationKey === null &&
  job.blockerCount === 0 &&
  job.leaseVersion === 1 &&
  job.group === null;

const refuse = (job: ModelJob | undefined, outcome: JobOutcome, now: number): OutcomeResult | undefined => {
  if (outcome.leaseToken === null && job !== undefined) return isOver(job) ? notRunning(job) : undefined;
  const refused = refusalOf(job, outcome.leaseToken ?? "", now);
  return refused?.reason === "lease_expired" && outcome.locked === true ? undefined : refused;
};

const apply = (store: ModelStore, job: ModelJob, outcome: JobOutcome, now: number): OutcomeResult => {
  const wasRunning = job.status === "running";
  if (outcome.leaseToken === null)
    addInterrupted(store, job, outcome.kind === "complete" ? "already_completed" : outcome.kind, now);
  else if (outcome.kind !== "complete") addEnded(store, outcome, outcome.kind, now);
  endLease(job, outcome.leaseToken);
  job.status = statusAfter[outcome.kind];
  switch (outcome.kind) {
    case "complete":
      job.output = outcome.output;
      job.completedAt = now;
      job.completedBy = outcome.completedBy;
      job.continuedToId = outcome.continuedToId;
      return applied(
        now,
        outcome.continuedToId === null ? { unblocked: unblock(store, job.sequenceId, now) } : {},
      );
    case "fail":
      job.failedAt = now;
      job.failureReason = outcome.reason;
      setError(job, outcome.error);
      if (outcome.note?.fingerprint) store.fingerprints.set(job.id, outcome.note.fingerprint);
      job.lastFailedAt = now;
      job.expiredLeases = 0;
      noteFailure(store, job);
      return applied(now, { cascaded: cascadeFailure(store, job.sequenceId, now) });
    case "retry":
      job.scheduledAt = momentOf(outcome.schedule, now);
      setError(job, outcome.error);
      job.lastFailedAt = now;
      job.expiredLeases = 0;
      return applied(now);
    case "release":
      if (outcome.schedule !== null) job.scheduledAt = momentOf(outcome.schedule, now);
      if (outcome.error !== null) setError(job, outcome.error);
      if (wasRunning) job.attempt -= 1;
      if (job.expiredLeases < 0) job.expiredLeases *= -1;
      return applied(now);
  }
};
