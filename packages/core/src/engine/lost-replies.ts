import type { LeaseRefusal } from "../store/contract/claims.ts";
import type { CreatedStateJob, DeletionResult, NewJob } from "../store/contract/creation.ts";
import type { WaitingJobResult } from "../store/contract/edits.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { CancelResult, JobOutcome, RedriveResult } from "../store/contract/outcomes.ts";
import type { StateAdapter } from "../store/contract/state-adapter.ts";
import { JobAlreadyExistsError } from "../store/errors.ts";

/** How a repeated call recognises that an earlier try was committed although its reply was lost. */
export interface LostReply {
  /** The arguments of a repeated call. */
  again?(args: object | undefined): object;
  /**
   * The result of a repeated call. The store does not show whether an earlier try took effect, so every try runs in a
   * transaction of its own and its answer is known before the commit: `earlier` is that answer, `later` the new one.
   */
  match?(earlier: unknown, later: unknown): unknown;
  /** The result of a repeated call that failed, if its own earlier try is the reason. Otherwise throws the error. */
  recover?(error: unknown, args: object | undefined, store: LookupStore): Promise<unknown>;
}

type LookupStore = Pick<StateAdapter, "getJobs" | "createJobs">;

/** Matches results one by one: those of the earlier try that were committed replace the later ones. */
const matchEach =
  <T>(isOwn: (earlier: T, later: T) => boolean) =>
  (earlier: unknown, later: unknown): readonly T[] =>
    (later as readonly T[]).map((result, index) => {
      const before = (earlier as readonly T[])[index]!;
      return isOwn(before, result) ? before : result;
    });

/** A redrive sets `scheduledAt` to the time of the redrive; a claim after it has raised `leaseVersion`. */
const isOwnRedrive = (earlier: RedriveResult, later: RedriveResult): boolean =>
  earlier.kind === "redriven" &&
  later.kind === "not_failed" &&
  (later.job!.scheduledAt === earlier.job!.scheduledAt ||
    later.job!.leaseVersion > earlier.job!.leaseVersion);

/** A job that was claimed after the update still has the updated values. */
const isOwnUpdate = (earlier: WaitingJobResult, later: WaitingJobResult): boolean =>
  earlier.kind === "changed" &&
  later.kind === "not_waiting" &&
  later.job!.input === earlier.job!.input &&
  later.job!.priority === earlier.job!.priority &&
  later.job!.scheduledAt === earlier.job!.scheduledAt;

const isOwnCancellation = (earlier: CancelResult, later: CancelResult): boolean =>
  earlier.changed &&
  later.kind === "cancelled" &&
  !later.changed &&
  later.job!.failedAt === earlier.job!.failedAt;

/** Deleted jobs cannot be compared. But if the earlier try had not deleted them, the later one would have. */
const matchDeletion = (earlier: DeletionResult, later: DeletionResult): DeletionResult => {
  if (later.notRoots.length + later.dependantRootSequenceIds.length > 0) return later;
  const known = new Set(later.deleted.map(({ id }) => id));
  return { ...later, deleted: [...later.deleted, ...earlier.deleted.filter(({ id }) => !known.has(id))] };
};

/** Another start, or an update, may have changed the input since. */
const isSameJob = (job: NewJob, stored: StateJob): boolean =>
  stored.typeName === job.typeName &&
  stored.sequenceId === job.sequenceId &&
  (stored.input === job.input || stored.replacedBy !== null);

/**
 * A repeated creation finds its own jobs in the store: type, sequence and input are the same. The earlier try was applied as
 * a whole, so jobs that it did not store were duplicates. A call with only these returns the part of the answer that was lost.
 */
const recoverCreation = async (
  error: unknown,
  jobs: readonly NewJob[],
  store: LookupStore,
): Promise<CreatedStateJob[]> => {
  if (!(error instanceof JobAlreadyExistsError)) throw error;
  const stored = await store.getJobs({ jobIds: jobs.map(({ id }) => id) });
  const isForeign = (job: NewJob, found: StateJob | undefined): boolean =>
    found === undefined ? job.deduplication === null : !isSameJob(job, found);
  if (jobs.some((job, index) => isForeign(job, stored[index]))) throw error;
  const duplicates = jobs.filter((_job, index) => stored[index] === undefined);
  const answers = duplicates.length === 0 ? [] : await store.createJobs({ jobs: duplicates });
  let next = 0;
  return stored.map((job) => (job === undefined ? answers[next++]! : { job, deduplicated: false }));
};

/** Calls that are not listed can be repeated as they are: outcomes and renewals carry their lease token. */
export const lostReplies: { readonly [method: string]: LostReply | undefined } = {
  // A repeated claim also returns the jobs that its lease token already holds.
  claimJobs: { again: (args) => ({ ...args, isRepeat: true }) },
  createJobs: {
    recover: (error, args, store) =>
      recoverCreation(error, (args as { jobs: readonly NewJob[] }).jobs, store),
  },
  redriveJobs: { match: matchEach(isOwnRedrive) },
  cancelSequences: { match: matchEach(isOwnCancellation) },
  updateWaitingJobs: { match: matchEach(isOwnUpdate) },
  deleteSequences: {
    match: (earlier, later) => matchDeletion(earlier as DeletionResult, later as DeletionResult),
  },
};

/** What the store shows of completions whose commit was not acknowledged. */
export type LostCommit =
  /** Not committed: a job is still held under its lease. */
  | { readonly kind: "open" }
  | { readonly kind: "committed" }
  /** Not committed, and the leases are gone. */
  | { readonly kind: "refused"; readonly refusals: ReadonlyMap<string, LeaseRefusal> };

/**
 * Finds out whether completions of one transaction were committed. The lock waits for that transaction if it has not ended.
 * A completed job does not change, so writing its outcome again only shows whether the completion is the same.
 */
export const findLostCommit = async (
  store: Pick<StateAdapter, "runInTransaction" | "lockHeldJobs" | "commitOutcomes">,
  outcomes: readonly JobOutcome[],
): Promise<LostCommit> => {
  if (outcomes.length === 0) return { kind: "committed" };
  const leases = outcomes.map(({ jobId, leaseToken }) => ({ jobId, leaseToken: leaseToken! }));
  const results = await store.runInTransaction((ctx) => store.lockHeldJobs({ ctx, leases }));
  const refusals = new Map<string, LeaseRefusal>();
  for (const [index, result] of results.entries()) {
    if (result.kind === "locked") return { kind: "open" };
    refusals.set(outcomes[index]!.jobId, result);
  }
  const ended = outcomes
    .filter(({ jobId }) => refusals.get(jobId)?.status === "completed")
    .map((outcome) => ({ ...outcome, locked: false }));
  const again = ended.length > 0 ? await store.commitOutcomes({ outcomes: ended }) : [];
  return again.some(({ kind }) => kind === "repeated")
    ? { kind: "committed" }
    : { kind: "refused", refusals };
};
