import type { CancelResult, DeletionResult, RedriveResult } from "../contracts/state-adapter.ts";

/**
 * Calls that cannot tell from the store alone that an earlier try of theirs took effect. Each is made in a transaction of
 * its own, so that its answer is known before the commit, whose reply may get lost; the next try then finds the work
 * done, and what it finds is held against that answer.
 */
export const recogniseLostAnswer: {
  readonly [method: string]: ((earlier: never, later: never) => unknown) | undefined;
} = {
  redriveJobs: (earlier: readonly RedriveResult[], later: readonly RedriveResult[]) =>
    later.map((result, index) => (isOwnRedrive(earlier[index]!, result) ? earlier[index]! : result)),

  cancelSequences: (earlier: readonly CancelResult[], later: readonly CancelResult[]) =>
    later.map((result, index) => (isOwnCancellation(earlier[index]!, result) ? earlier[index]! : result)),

  // What is gone cannot be looked at; if the first try had not taken it away, the second would have.
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

const isOwnCancellation = (earlier: CancelResult, later: CancelResult): boolean =>
  earlier.changed &&
  later.kind === "cancelled" &&
  !later.changed &&
  later.job!.failedAt === earlier.job!.failedAt;
