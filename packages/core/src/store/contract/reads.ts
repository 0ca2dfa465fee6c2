import type { StateCall, StateRead } from "./calls.ts";
import type { FailureReason, JobStatus, StateJob, StateSequence } from "./job.ts";

/** All that is given must hold. */
export interface JobFilter {
  readonly ids?: readonly string[] | undefined;
  readonly statuses?: readonly JobStatus[] | undefined;
  readonly queues?: readonly string[] | undefined;
  readonly typeNames?: readonly string[] | undefined;
  readonly sequenceTypeNames?: readonly string[] | undefined;
  /** Continuations have none. Together with `sequenceTypeNames` it must be found by an index. */
  readonly deduplicationKeys?: readonly string[] | undefined;
  /** Of any type. Only for stores with the part `limits`; an index must find the jobs of one group. */
  readonly groups?: readonly string[] | undefined;
  /** The recurring jobs that started them. Only for stores with the part `recurring`; an index must find those of one. */
  readonly recurringJobIds?: readonly string[] | undefined;
  readonly sequenceId?: string | undefined;
  readonly rootSequenceId?: string | undefined;
  /** Only the first job of each sequence, or of each tree. It need not be faster than a look at every job. */
  readonly firstOf?: "sequence" | "tree" | undefined;
  readonly failureReasons?: readonly FailureReason[] | undefined;
  /** Jobs whose id begins with this. The primary key finds them, if ids are UUIDs. */
  readonly idPrefix?: string | undefined;
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

/** Where a page of a listing ended. */
export interface PagePosition {
  readonly createdAt: number;
  readonly id: string;
}

/** Pages neither repeat nor skip a job that existed when the listing began. */
export interface JobPage {
  /** May be fewer than asked for, or none, when the store has looked at as many jobs as it may at a time. */
  readonly jobs: readonly StateJob[];
  /** Where to continue; null only when there are no more. */
  readonly next: PagePosition | null;
}

/** A number of jobs of one queue, type and status. */
export interface JobCount {
  readonly queue: string;
  readonly typeName: string;
  readonly status: JobStatus;
  readonly count: number;
}

interface PageCall {
  readonly limit: number;
  readonly after: PagePosition | null;
}

/** The arguments for a page of jobs. */
export interface ListJobsCall extends PageCall {
  readonly filter: JobFilter;
  readonly order: "oldest" | "newest";
}

/** The arguments for a page of jobs that wait for a sequence. */
export interface ListBlockedJobsCall extends PageCall {
  readonly sequenceId: string;
}

/** The methods of the contract that read jobs. */
export interface Reads<TTxContext> {
  getJobs(
    call: StateRead<TTxContext> & { readonly jobIds: readonly string[] },
  ): Promise<(StateJob | undefined)[]>;

  getSequences(
    call: StateRead<TTxContext> & { readonly sequenceIds: readonly string[] },
  ): Promise<(StateSequence | undefined)[]>;

  /**
   * By `createdAt`, then id. Where all ids are UUIDs of version 7, which are ordered by time, a store may sort by id
   * alone: jobs are then in the order in which their ids were made. Looks at a bounded number of jobs.
   */
  listJobs(call: StateRead<TTxContext> & ListJobsCall): Promise<JobPage>;

  /** For each job the sequences it was given as blockers, in the order given. */
  getBlockers(
    call: StateCall<TTxContext> & { readonly jobIds: readonly string[] },
  ): Promise<StateSequence[][]>;

  /** Jobs that have this sequence among their blockers, finished or not; oldest first. */
  listBlockedJobs(call: StateCall<TTxContext> & ListBlockedJobsCall): Promise<JobPage>;

  /** Exact, and so it takes longer the more jobs there are to count. */
  countJobs(call: StateRead<TTxContext> & { readonly filter: JobFilter }): Promise<JobCount[]>;
}
