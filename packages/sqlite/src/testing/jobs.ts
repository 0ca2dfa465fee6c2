import { randomUUID } from "node:crypto";
import type { AttemptNote, JobOutcome, NewJob, StateJob } from "leasehold/adapter";
import type { SqliteStateAdapter } from "../state-adapter.ts";

/** The first and only job of a sequence that is its own root. */
export const newJob = (overrides: Partial<NewJob> = {}): NewJob => {
  const id = overrides.id ?? randomUUID();
  return {
    id,
    typeName: "type",
    sequenceId: id,
    sequenceTypeName: overrides.typeName ?? "type",
    sequenceIndex: 0,
    sequenceCreatedAt: null,
    rootSequenceId: id,
    originId: null,
    traceContext: null,
    queue: "queue",
    priority: 0,
    input: "{}",
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

type AnyAdapter = Pick<SqliteStateAdapter<object>, "claimJobs">;

export const claimAll = (adapter: AnyAdapter, limit = 100): Promise<StateJob[]> =>
  adapter.claimJobs({
    workerId: "worker",
    leaseToken: randomUUID(),
    leaseMs: 30_000,
    requests: [{ queue: "queue", typeNames: null, limit }],
    limit,
  });

export const completion = (job: StateJob, output = "null"): JobOutcome => ({
  kind: "complete",
  jobId: job.id,
  leaseToken: job.leaseToken,
  output,
  continuedToId: null,
  completedBy: "worker",
});

/** Of the attempt that runs now. */
export const noteOf = (job: StateJob): AttemptNote => ({
  attempt: job.attempt,
  leaseVersion: job.leaseVersion,
  workerId: "worker",
  deployment: null,
  dueAt: job.scheduledAt,
  startedAt: job.lastAttemptAt!,
  fingerprint: null,
  error: null,
  log: null,
});

/** A promise and the function that resolves it. */
export const createGate = (): { readonly opened: Promise<void>; open(): void } => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
};
