import type { DeletionResult } from "../store/contract/creation.ts";
import type { WaitingJobResult } from "../store/contract/edits.ts";
import type { CancelResult, RedriveResult } from "../store/contract/outcomes.ts";

/**
 * Calls that cannot see in the store whether an earlier try took effect. Each is made in a transaction of its own, so
 * that its answer is known before the commit. If the reply to the commit is lost, the next try finds the work done, and its
 * answer is compared with the earlier one.
 */
export const recogniseLostAnswer: {
  readonly [method: string]: ((earlier: never, later: never) => unknown) | undefined;
} = {
  redriveJobs: (earlier: readonly RedriveResult[], later: readonly RedriveResult[]) =>
    later.map((result, index) => (isOwnRedrive(earlier[index]!, result) ? earlier[index]! : result)),

  cancelSequences: (earlier: readonly CancelResult[], later: readonly CancelResult[]) =>
    later.map((result, index) => (isOwnCancellation(earlier[index]!, result) ? earlier[index]! : result)),

  updateWaitingJobs: (earlier: readonly WaitingJobResult[], later: readonly WaitingJobResult[]) =>
    later.map((result, index) => (isOwnUpdate(earlier[index]!, result) ? earlier[index]! : result)),

  // Deleted jobs cannot be compared. But if the first try had not deleted them, the second would have.
  deleteSequences: (earlier: DeletionResult, later: DeletionResult): DeletionResult => {
    const known = new Set(later.deleted.map(({ id }) => id));
    const wasRefused = later.notRoots.length + later.dependantRootSequenceIds.length > 0;
    if (wasRefused) return later;
    return { ...later, deleted: [...later.deleted, ...earlier.deleted.filter(({ id }) => !known.has(id))] };
  },
};

/** A redrive leaves the moment it happened in `scheduledAt`; a claim since then has raised `leaseVersion`. */
const isOwnRedrive = (earlier: RedriveResult, later: RedriveResult): boolean =>
  earlier.kind === "redriven" &&
  later.kind === "not_failed" &&
  (later.job!.scheduledAt === earlier.job!.scheduledAt ||
    later.job!.leaseVersion > earlier.job!.leaseVersion);

/** A job that was claimed since still shows what it was given. */
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
