import type { PagePosition } from "../../model/cursor.ts";
import type { JobStatus, StateJob, StateSequence } from "../../model/job.ts";
import type { StateCall, StateRead } from "../state-call.ts";
import type { JobFilter } from "./job-filter.ts";

/** Pages neither repeat nor skip a job that existed when the listing began. */
export interface JobPage {
  /** May be fewer than asked for, or none, when the store has looked at as many jobs as it may at a time. */
  readonly jobs: readonly StateJob[];
  /** Where to continue; null only when there are no more. */
  readonly next: PagePosition | null;
}

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

export interface ListJobsCall extends PageCall {
  readonly filter: JobFilter;
  readonly order: "oldest" | "newest";
}

export interface ListBlockedJobsCall extends PageCall {
  readonly sequenceId: string;
}

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
