import { randomUUID } from "node:crypto";
import type {
  AttemptNote,
  ClaimRequest,
  JobOutcome,
  NewJob,
  StateAdapter,
  StateJob,
} from "leasehold/adapter";

/** A job of type `work` in the queue `default`, runnable at once. */
export const newJob = (overrides: Partial<NewJob> = {}): NewJob => {
  const id = overrides.id ?? randomUUID();
  const typeName = overrides.typeName ?? "work";
  return {
    id,
    typeName,
    sequenceId: id,
    sequenceTypeName: typeName,
    sequenceIndex: 0,
    sequenceCreatedAt: null,
    rootSequenceId: id,
    originId: null,
    traceContext: null,
    queue: "default",
    priority: 0,
    input: "null",
    schedule: { afterMs: 0 },
    maxAttempts: 4,
    timeoutMs: null,
    leaseMs: null,
    onBlockerFailure: "fail",
    group: null,
    ordered: null,
    awaitsBlockers: false,
    deduplication: null,
    ...overrides,
  };
};

export interface ClaimOptions {
  readonly limit: number;
  /** Default: the type `work` of the queue `default`. */
  readonly requests?: readonly ClaimRequest[];
  readonly leaseMs?: number;
  readonly now?: number;
}

/** Claims under a token of its own. */
export const claim = (
  adapter: StateAdapter,
  {
    limit,
    requests = [{ queue: "default", typeNames: ["work"], limit }],
    leaseMs = 30_000,
    now,
  }: ClaimOptions,
): Promise<StateJob[]> =>
  adapter.claimJobs({
    workerId: "worker",
    leaseToken: randomUUID(),
    leaseMs,
    requests,
    limit,
    ...(now === undefined ? {} : { now }),
  });

/** The completion of a job under the lease it shows. */
export const completionOf = (job: StateJob): Extract<JobOutcome, { kind: "complete" }> => ({
  kind: "complete",
  jobId: job.id,
  leaseToken: job.leaseToken,
  output: "null",
  continuedToId: null,
  completedBy: "worker",
});

/** What a worker says about the attempt that it made under the lease the job shows. */
const noteOf = (job: StateJob, overrides: Partial<AttemptNote> = {}): AttemptNote => ({
  attempt: job.attempt,
  leaseVersion: job.leaseVersion,
  workerId: "worker",
  deployment: null,
  dueAt: job.scheduledAt,
  startedAt: job.lastAttemptAt!,
  fingerprint: "0123456789abcdef",
  error: '{"message":"no"}',
  log: null,
  ...overrides,
});

/** A retry or failure of a job under the lease it shows, with a note about the attempt. */
export const failureOf = (
  job: StateJob,
  kind: "retry" | "fail" = "fail",
  note: Partial<AttemptNote> = {},
): JobOutcome => ({
  ...(kind === "retry"
    ? { kind, schedule: { afterMs: 0 } }
    : { kind, reason: "attempts_exhausted" as const }),
  jobId: job.id,
  leaseToken: job.leaseToken,
  error: '{"message":"no"}',
  note: noteOf(job, note),
});
