import type { JobReference, JobStatus } from "../../model/job.ts";
import type { StateCall } from "../state-call.ts";

export interface DeletionResult {
  readonly deleted: readonly (JobReference & { readonly status: JobStatus })[];
  /** Given ids that are no root. If there are any, nothing was deleted. */
  readonly notRoots: readonly string[];
  /** Roots outside the set whose jobs are blocked by sequences in it. If there are any, nothing was deleted. */
  readonly dependantRootSequenceIds: readonly string[];
}

/** How long finished trees are kept, by the type of their root sequence. */
export interface PruneRule {
  /** The types it is for; null for all that no other rule names. */
  readonly sequenceTypeNames: readonly string[] | null;
  /** Completed sequences must have finished before this moment; null keeps trees with completed sequences. */
  readonly completedBefore: number | null;
  /** The same for failed ones. */
  readonly failedBefore: number | null;
}

export interface PruneResult {
  readonly deletedJobs: number;
  /** Those of them that had failed. */
  readonly failedJobs: readonly JobReference[];
  /** Where the pass continues, in the store's own format; null at its end. */
  readonly next: string | null;
}

export interface DeleteCall {
  readonly rootSequenceIds: readonly string[];
}

export interface PruneCall {
  readonly rules: readonly PruneRule[];
  readonly limit: number;
  /** The `next` of the call before; null at the beginning of a pass. */
  readonly after: string | null;
  /** Do nothing and answer null while another call with `alone` is pruning the same store. */
  readonly alone?: boolean;
}

export interface Deletion<TTxContext> {
  /** Removes whole trees of sequences. See `DeletionResult` for what prevents it. Ignores ids that do not exist. */
  deleteSequences(call: StateCall<TTxContext> & DeleteCall): Promise<DeletionResult>;

  /**
   * Removes up to `limit` trees whose every sequence finished before the moment that its rule gives for how it ended,
   * and on which no tree that stays depends. Looks at a bounded number of jobs, however many there are. Going through all
   * of them is a pass of several calls, each with the `next` of the call before as `after`.
   *
   * A pass finds every tree that could go when the pass began, with two exceptions: a tree needed by one that the pass
   * removed later, and a tree that another transaction had locked. Locked jobs are skipped, never waited for.
   */
  pruneSequences(call: StateCall<TTxContext> & PruneCall): Promise<PruneResult | null>;
}
