// The few calls of the store that the phases are made of.
import { randomUUID } from "node:crypto";

export const queue = "default";
export const typeName = "no-op";
const portion = 5_000;

export const newJob = (more = {}) => {
  const id = randomUUID();
  return {
    id,
    typeName,
    queue,
    sequenceId: id,
    sequenceTypeName: typeName,
    sequenceIndex: 0,
    sequenceCreatedAt: null,
    rootSequenceId: id,
    originId: null,
    traceContext: null,
    priority: 0,
    input: '{"email":"user@example.com"}',
    schedule: { afterMs: 0 },
    maxAttempts: 4,
    timeoutMs: null,
    leaseMs: null,
    onBlockerFailure: "fail",
    group: null,
    ordered: null,
    awaitsBlockers: false,
    deduplication: null,
    ...more,
  };
};

/** @param {(n: number) => object} more */
export const startJobs = async (adapter, count, more) => {
  for (let from = 0; from < count; from += portion) {
    const length = Math.min(portion, count - from);
    await adapter.createJobs({ jobs: Array.from({ length }, (_, i) => newJob(more(from + i))) });
  }
};

export const claimJobs = (adapter, limit, { leaseMs = 30_000 } = {}) =>
  adapter.claimJobs({
    workerId: "worker",
    leaseToken: randomUUID(),
    leaseMs,
    requests: [{ queue, typeNames: [typeName], limit }],
    limit,
  });

export const completeJobs = async (adapter, jobs) => {
  const outcomes = jobs.map(({ id, leaseToken }) => ({
    kind: "complete",
    jobId: id,
    leaseToken,
    output: "null",
    continuedToId: null,
    completedBy: "worker",
  }));
  const results = await adapter.commitOutcomes({ outcomes });
  if (results.some(({ kind }) => kind !== "applied")) throw new Error("An outcome was refused.");
};

export const percentile = (values, share) => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
};
