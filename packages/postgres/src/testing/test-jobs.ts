import { randomUUID } from "node:crypto";
import type { ClaimRequest, NewJob, StateAdapter, StateJob } from "leasehold/adapter";

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
export const completionOf = (
  job: StateJob,
): Parameters<StateAdapter["commitOutcomes"]>[0]["outcomes"][number] => ({
  kind: "complete",
  jobId: job.id,
  leaseToken: job.leaseToken,
  output: "null",
  continuedToId: null,
  completedBy: "worker",
});
