import { randomUUID } from "node:crypto";
import type { AnyStateAdapter, JobOutcome, NewJob, StateJob } from "leasehold/adapter";

/** A job that can be claimed at once, with whatever a test cares about. */
export const newJob = (given: Partial<NewJob> = {}): NewJob => {
  const id = given.id ?? randomUUID();
  const typeName = given.typeName ?? "work";
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
    timeoutMs: null,
    leaseMs: null,
    maxAttempts: 3,
    onBlockerFailure: "fail",
    group: null,
    ordered: null,
    input: "null",
    schedule: { afterMs: 0 },
    awaitsBlockers: false,
    deduplication: null,
    ...given,
  };
};

export const createSome = async (adapter: AnyStateAdapter, count: number): Promise<string[]> => {
  const jobs = Array.from({ length: count }, () => newJob());
  await adapter.createJobs({ jobs });
  return jobs.map(({ id }) => id);
};

export const claimSome = (adapter: AnyStateAdapter, limit: number, leaseMs = 60_000): Promise<StateJob[]> =>
  adapter.claimJobs({
    workerId: "worker",
    leaseToken: randomUUID(),
    leaseMs,
    limit,
    requests: [{ queue: "default", typeNames: ["work"], limit }],
  });

export const completion = (job: StateJob, output: string | null = null): JobOutcome => ({
  kind: "complete",
  jobId: job.id,
  leaseToken: job.leaseToken,
  output,
  continuedToId: null,
  completedBy: "worker",
});

export const renewal = (job: StateJob, leaseMs = 60_000) => ({
  jobId: job.id,
  leaseToken: job.leaseToken!,
  leaseMs,
});
