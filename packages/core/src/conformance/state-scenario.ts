import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { NewJob } from "../store/contract/creation.ts";
import type { CancelResult, JobOutcome, OutcomeResult } from "../store/contract/outcomes.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import type { StateJob } from "../store/contract/job.ts";
import { baseTime, newJob } from "./state-fixture.ts";

export interface ClaimOptions {
  readonly now?: number;
  readonly limit?: number;
  readonly leaseMs?: number;
  readonly leaseToken?: string;
  readonly workerId?: string;
  readonly deployment?: string | undefined;
  readonly queue?: string;
  readonly typeNames?: readonly string[] | null;
  readonly isRepeat?: boolean;
}

type OmitEach<T, TKey extends PropertyKey> = T extends unknown ? Omit<T, TKey> : never;
/** An outcome without the part that says whose it is. */
export type Ending = OmitEach<JobOutcome, "jobId" | "leaseToken">;

/** The words in which the state suites tell their stories. Everything happens at `baseTime` unless told otherwise. */
export interface StateScenario {
  readonly adapter: AnyStateAdapter;
  /** A queue and a job type that no other test uses. */
  readonly queue: string;
  readonly typeName: string;

  newJob(overrides?: Partial<NewJob>): NewJob;
  start(overrides?: Partial<NewJob>, now?: number): Promise<StateJob>;
  startMany(jobs: readonly Partial<NewJob>[], now?: number): Promise<StateJob[]>;
  /** A job that waits for the sequences of these. */
  startBlocked(blockers: readonly StateJob[], overrides?: Partial<NewJob>, now?: number): Promise<StateJob>;
  /** Completes a job that runs, and gives its sequence a next job. */
  continueSequence(running: StateJob, overrides?: Partial<NewJob>, now?: number): Promise<StateJob>;

  claim(options?: ClaimOptions): Promise<StateJob[]>;
  /** Claims exactly this job, which must be the next of its type in its queue. */
  run(job: StateJob, options?: ClaimOptions): Promise<StateJob>;
  /** Ends an attempt under the lease that `job` shows. */
  end(job: StateJob, ending: Ending, now?: number): Promise<OutcomeResult>;
  /** Ends a job without a lease, whatever it is doing. */
  endWorkerless(job: StateJob, ending: Ending, now?: number): Promise<OutcomeResult>;
  cancel(job: StateJob, now?: number): Promise<CancelResult>;
  reload(job: { readonly id: string }): Promise<StateJob>;
  reloadAll(jobs: readonly { readonly id: string }[]): Promise<StateJob[]>;
}

export const completion: Extract<Ending, { kind: "complete" }> = {
  kind: "complete",
  output: '"done"',
  continuedToId: null,
  completedBy: "worker-1",
};

export const failure: Extract<Ending, { kind: "fail" }> = {
  kind: "fail",
  reason: "unrecoverable",
  error: "broken",
};

export const retryAfter = (afterMs: number): Extract<Ending, { kind: "retry" }> => ({
  kind: "retry",
  schedule: { afterMs },
  error: "try again",
});

export const release: Extract<Ending, { kind: "release" }> = {
  kind: "release",
  schedule: null,
  error: null,
};

export const outcomeOf = (job: StateJob, ending: Ending): JobOutcome => ({
  ...ending,
  jobId: job.id,
  leaseToken: job.leaseToken,
});

const single = <T>(items: readonly T[]): T => {
  assert.equal(items.length, 1);
  return items[0] as T;
};

export const createStateScenario = (adapter: AnyStateAdapter): StateScenario => {
  const queue = `queue-${randomUUID()}`;
  const typeName = `type-${randomUUID()}`;

  const fill = (overrides: Partial<NewJob> = {}): NewJob => newJob({ queue, typeName, ...overrides });

  const startMany: StateScenario["startMany"] = async (jobs, now = baseTime) => {
    const created = await adapter.createJobs({ jobs: jobs.map(fill), now });
    return created.map(({ job }) => job);
  };

  const claim: StateScenario["claim"] = ({ limit = 100, typeNames = null, ...options } = {}) =>
    adapter.claimJobs({
      workerId: options.workerId ?? "worker-1",
      leaseToken: options.leaseToken ?? randomUUID(),
      leaseMs: options.leaseMs ?? 30_000,
      deployment: options.deployment,
      requests: [{ queue: options.queue ?? queue, typeNames, limit }],
      limit,
      isRepeat: options.isRepeat ?? false,
      now: options.now ?? baseTime,
    });

  const commit = async (outcome: JobOutcome, now: number): Promise<OutcomeResult> =>
    single(await adapter.commitOutcomes({ outcomes: [outcome], now }));

  const reloadAll: StateScenario["reloadAll"] = async (jobs) => {
    const found = await adapter.getJobs({ jobIds: jobs.map(({ id }) => id) });
    return found.map((job) => {
      assert.ok(job, "the job is stored");
      return job;
    });
  };

  return {
    adapter,
    queue,
    typeName,
    newJob: fill,
    start: async (overrides = {}, now = baseTime) => single(await startMany([overrides], now)),
    startMany,
    startBlocked: (blockers, overrides = {}, now = baseTime) =>
      adapter.runInTransaction(async (ctx) => {
        const job = fill({ ...overrides, awaitsBlockers: true });
        await adapter.createJobs({ jobs: [job], ctx, now });
        const blockerSequenceIds = blockers.map(({ sequenceId }) => sequenceId);
        return adapter.addJobBlockers({ jobId: job.id, blockerSequenceIds, ctx, now });
      }),
    continueSequence: (running, overrides = {}, now = baseTime) =>
      adapter.runInTransaction(async (ctx) => {
        const { sequenceId, sequenceTypeName, sequenceIndex, sequenceCreatedAt, rootSequenceId, id } =
          running;
        const next = fill({
          sequenceId,
          sequenceTypeName,
          sequenceIndex: sequenceIndex + 1,
          sequenceCreatedAt,
          rootSequenceId,
          originId: id,
          ...overrides,
        });
        const { job } = single(await adapter.createJobs({ jobs: [next], ctx, now }));
        const outcome = outcomeOf(running, { ...completion, output: null, continuedToId: next.id });
        const result = single(await adapter.commitOutcomes({ outcomes: [outcome], ctx, now }));
        assert.equal(result.kind, "applied");
        return job;
      }),
    claim,
    run: async (job, options = {}) => {
      const claimed = single(
        await claim({ queue: job.queue, typeNames: [job.typeName], limit: 1, ...options }),
      );
      assert.equal(claimed.id, job.id);
      return claimed;
    },
    end: (job, ending, now = baseTime) => commit(outcomeOf(job, ending), now),
    endWorkerless: (job, ending, now = baseTime) =>
      commit(outcomeOf({ ...job, leaseToken: null }, ending), now),
    cancel: async ({ sequenceId }, now = baseTime) =>
      single(await adapter.cancelSequences({ sequenceIds: [sequenceId], error: "stopped", now })),
    reload: async (job) => single(await reloadAll([job])),
    reloadAll,
  };
};
