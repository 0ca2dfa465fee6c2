import type { LeaseRefusal } from "../store/contract/claims.ts";
import type { CreatedStateJob, DeletionResult, NewJob } from "../store/contract/creation.ts";
import type { WaitingJobResult } from "../store/contract/edits.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { CancelResult, JobOutcome, OutcomeResult, RedriveResult } from "../store/contract/outcomes.ts";
import type { StateAdapter } from "../store/contract/state-adapter.ts";
import { JobAlreadyExistsError } from "../store/errors.ts";
import { asksToDiscard } from "../store/rules/checks.ts";
import { createdStateJob } from "../store/rules/transitions.ts";

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
  /**
   * Called before a call is repeated. Returns the result if the earlier try is found to have been committed, and undefined if the
   * call can be repeated. Throws `failure`, the error of the first try, if the store does not show which it is.
   */
  find?(failure: unknown, args: object | undefined, store: LookupStore): Promise<unknown>;
  /** The result of a repeated call, where parts of its answer show that the earlier try was committed. */
  recognise?(answer: unknown, args: object | undefined): unknown;
}

interface LookupStore extends Pick<StateAdapter, "getJobs" | "createJobs"> {
  /** Whether the job may be deleted as soon as it completes. */
  readonly mayVanish: (job: NewJob) => boolean;
}

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
 * a whole, so jobs that are not stored were duplicates, or have completed and vanished. A call with only the duplicates returns
 * the part of the answer that was lost.
 */
const readCreated = async (
  error: unknown,
  jobs: readonly NewJob[],
  stored: readonly (StateJob | undefined)[],
  store: LookupStore,
): Promise<CreatedStateJob[]> => {
  const isForeign = (job: NewJob, found: StateJob | undefined): boolean =>
    found === undefined ? job.deduplication === null && !store.mayVanish(job) : !isSameJob(job, found);
  if (jobs.some((job, index) => isForeign(job, stored[index]))) throw error;
  const isDuplicate = (job: NewJob, index: number): boolean =>
    stored[index] === undefined && job.deduplication !== null;
  const duplicates = jobs.filter(isDuplicate);
  const answers = duplicates.length === 0 ? [] : await store.createJobs({ jobs: duplicates });
  const createdAt = stored.find((job) => job !== undefined)!.createdAt;
  let next = 0;
  return jobs.map((job, index) =>
    isDuplicate(job, index)
      ? answers[next++]!
      : { job: stored[index] ?? createdStateJob(job, createdAt), deduplicated: false },
  );
};

const readStored = (jobs: readonly NewJob[], store: LookupStore): Promise<(StateJob | undefined)[]> =>
  store.getJobs({ jobIds: jobs.map(({ id }) => id) });

const recoverCreation = async (
  error: unknown,
  jobs: readonly NewJob[],
  store: LookupStore,
): Promise<CreatedStateJob[]> => {
  if (!(error instanceof JobAlreadyExistsError)) throw error;
  return readCreated(error, jobs, await readStored(jobs, store), store);
};

/**
 * A job that may vanish and is not stored was not created, or it has run already. Created again, it would run twice. The other
 * jobs of the call show which it is, because all were created or none.
 */
const findCreated = async (
  failure: unknown,
  jobs: readonly NewJob[],
  store: LookupStore,
): Promise<CreatedStateJob[] | undefined> => {
  if (!jobs.some(store.mayVanish)) return undefined;
  const stored = await readStored(jobs, store);
  if (stored.some((job) => job !== undefined)) return readCreated(failure, jobs, stored, store);
  if (jobs.some((job) => job.deduplication === null && !store.mayVanish(job))) return undefined;
  throw failure;
};

/**
 * The answers to outcomes that were sent before. A job that was to be deleted when it completes, and is gone, was deleted by the
 * earlier try.
 */
export const recogniseDiscarded = (
  results: readonly OutcomeResult[],
  outcomes: readonly JobOutcome[],
): readonly OutcomeResult[] =>
  results.map((result, index) =>
    isNotFound(result) && asksToDiscard(outcomes[index]!) ? { kind: "repeated" } : result,
  );

const isNotFound = (result: { readonly kind: string; readonly reason?: string }): boolean =>
  result.kind === "refused" && result.reason === "not_found";

/** Calls that are not listed can be repeated as they are: renewals carry their lease token. */
export const lostReplies: { readonly [method: string]: LostReply | undefined } = {
  // A repeated claim also returns the jobs that its lease token already holds.
  claimJobs: { again: (args) => ({ ...args, isRepeat: true }) },
  createJobs: {
    find: (failure, args, store) => findCreated(failure, (args as { jobs: readonly NewJob[] }).jobs, store),
    recover: (error, args, store) =>
      recoverCreation(error, (args as { jobs: readonly NewJob[] }).jobs, store),
  },
  commitOutcomes: {
    recognise: (answer, args) =>
      recogniseDiscarded(
        answer as readonly OutcomeResult[],
        (args as { outcomes: readonly JobOutcome[] }).outcomes,
      ),
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
 * A completed job does not change, so writing its outcome again only shows whether the completion is the same. Jobs that were to
 * be deleted, and are gone while their leases are still valid (`areLeasesValid`), were deleted by that transaction.
 */
export const findLostCommit = async (
  store: Pick<StateAdapter, "runInTransaction" | "lockHeldJobs" | "commitOutcomes">,
  outcomes: readonly JobOutcome[],
  areLeasesValid: () => boolean,
): Promise<LostCommit> => {
  if (outcomes.length === 0) return { kind: "committed" };
  const leases = outcomes.map(({ jobId, leaseToken }) => ({ jobId, leaseToken: leaseToken! }));
  const results = await store.runInTransaction((ctx) => store.lockHeldJobs({ ctx, leases }));
  const refusals = new Map<string, LeaseRefusal>();
  for (const [index, result] of results.entries()) {
    if (result.kind === "locked") return { kind: "open" };
    refusals.set(outcomes[index]!.jobId, result);
  }
  const areDiscarded = outcomes.every(
    (outcome) => asksToDiscard(outcome) && isNotFound(refusals.get(outcome.jobId)!),
  );
  if (areDiscarded && areLeasesValid()) return { kind: "committed" };
  const ended = outcomes
    .filter(({ jobId }) => refusals.get(jobId)?.status === "completed")
    .map((outcome) => ({ ...outcome, locked: false }));
  const again = ended.length > 0 ? await store.commitOutcomes({ outcomes: ended }) : [];
  return again.some(({ kind }) => kind === "repeated")
    ? { kind: "committed" }
    : { kind: "refused", refusals };
};
