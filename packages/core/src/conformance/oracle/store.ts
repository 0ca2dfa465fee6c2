import type { StateAttempt } from "../../store/contract/history.ts";
import type { StateRecurringJob } from "../../store/contract/recurring.ts";
import type { LimitRule } from "../../store/contract/limits.ts";
import type { JobReference, StateJob } from "../../store/contract/job.ts";

/**
 * What a store must look like from outside, kept the naive way: a few maps, every question answered by going through all
 * of it, every transaction a copy of everything. It shares no code with any adapter, so that the two cannot be wrong in
 * the same way.
 */
export interface ModelStore {
  /** In order of creation. */
  jobs: Map<string, ModelJob>;
  /** For each job the sequences it was given to wait for, in the order given. */
  blockers: Map<string, readonly string[]>;
  /** The sequences that a job was ever given to wait for. */
  everAwaited: Set<string>;
  /** The rules of queues and types. */
  rules: Map<string, LimitRule>;
  /** When the bucket of a queue, type or group is full, in microseconds. */
  buckets: Map<string, number>;
  /** For each stopped group the job that stopped it. */
  stops: Map<string, string>;
  /** For each group that was paused the end of its pause; infinity for none. */
  pauses: Map<string, number>;
  recurring: Map<string, StateRecurringJob>;
  /** For each job the attempts that did not complete it, the latest first, and all of them. */
  attempts: Map<string, readonly ModelAttempt[]>;
  /** Of failed jobs. */
  fingerprints: Map<string, string>;
}

export interface ModelAttempt extends StateAttempt {
  /** False where the contract leaves it open whether it is written. */
  readonly isCertain: boolean;
}

export interface ModelJob extends Mutable<Omit<StateJob, "failedBlockerId" | "limited">> {
  /** Null where the contract leaves it open. */
  limited: boolean | null;
  /** The contract does not say which of several failed blockers is named; any of these will do. */
  failedBlockerIds: readonly string[];
  /** Then `lastError` is that of such a blocker. */
  errorIsBlockers: boolean;
}

type Mutable<T> = { -readonly [TKey in keyof T]: T[TKey] };

export const createModelStore = (): ModelStore => ({
  jobs: new Map(),
  blockers: new Map(),
  everAwaited: new Set(),
  rules: new Map(),
  buckets: new Map(),
  stops: new Map(),
  pauses: new Map(),
  recurring: new Map(),
  attempts: new Map(),
  fingerprints: new Map(),
});

export const copyStore = (store: ModelStore): ModelStore => structuredClone(store);

/** Rolls back to a copy made earlier. */
export const restoreStore = (store: ModelStore, copy: ModelStore): void => {
  Object.assign(store, copy);
};

export const allJobs = (store: ModelStore): ModelJob[] => [...store.jobs.values()];

const jobsOfSequence = (store: ModelStore, sequenceId: string): ModelJob[] =>
  allJobs(store)
    .filter((job) => job.sequenceId === sequenceId)
    .sort((a, b) => a.sequenceIndex - b.sequenceIndex);

export const currentJob = (store: ModelStore, sequenceId: string): ModelJob | undefined =>
  jobsOfSequence(store, sequenceId).at(-1);

export const isOver = ({ status }: ModelJob): boolean => status === "completed" || status === "failed";

export const isFailedSequence = (store: ModelStore, sequenceId: string): boolean =>
  currentJob(store, sequenceId)?.status === "failed";

export const blockersOf = (store: ModelStore, job: ModelJob): readonly string[] =>
  store.blockers.get(job.id) ?? [];

/** The jobs that were given this sequence as a blocker. */
export const dependantsOf = (store: ModelStore, sequenceId: string): ModelJob[] =>
  allJobs(store).filter((job) => blockersOf(store, job).includes(sequenceId));

export const sequenceIds = (store: ModelStore): string[] =>
  allJobs(store)
    .filter(({ sequenceIndex }) => sequenceIndex === 0)
    .map(({ id }) => id);

export const referenceOf = (job: ModelJob): JobReference => ({
  id: job.id,
  typeName: job.typeName,
  queue: job.queue,
  sequenceId: job.sequenceId,
  sequenceTypeName: job.sequenceTypeName,
  rootSequenceId: job.rootSequenceId,
});

export const setError = (job: ModelJob, error: string | null): void => {
  job.lastError = error;
  job.errorIsBlockers = false;
};
