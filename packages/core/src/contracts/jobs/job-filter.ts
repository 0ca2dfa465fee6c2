import type { FailureReason, JobStatus } from "../../model/job.ts";

/** All that is given must hold. */
export interface JobFilter {
  readonly ids?: readonly string[] | undefined;
  readonly statuses?: readonly JobStatus[] | undefined;
  readonly queues?: readonly string[] | undefined;
  readonly typeNames?: readonly string[] | undefined;
  readonly sequenceTypeNames?: readonly string[] | undefined;
  /** Continuations have none. Together with `sequenceTypeNames` it must be found by an index. */
  readonly deduplicationKeys?: readonly string[] | undefined;
  readonly sequenceId?: string | undefined;
  readonly rootSequenceId?: string | undefined;
  /** Only the first job of each sequence, or of each tree. It need not be faster than a look at every job. */
  readonly firstOf?: "sequence" | "tree" | undefined;
  readonly failureReasons?: readonly FailureReason[] | undefined;
  /** Of failed jobs: what they failed from. Only for stores with the part `history`, and to be found by an index. */
  readonly fingerprints?: readonly string[] | undefined;
  /** Of running jobs: the workers that hold them. */
  readonly leasedBy?: readonly string[] | undefined;
  /** The text of the input contains this, letter for letter. It need not be faster than looking at every job. */
  readonly inputContains?: string | undefined;
  /** At this moment or later. */
  readonly createdFrom?: number | undefined;
  /** Before this moment. */
  readonly createdBefore?: number | undefined;
  /** `scheduledAt`: of a pending job, when it can run. */
  readonly scheduledFrom?: number | undefined;
  readonly scheduledBefore?: number | undefined;
  /** `completedAt` or `failedAt`. */
  readonly finishedFrom?: number | undefined;
  readonly finishedBefore?: number | undefined;
}
