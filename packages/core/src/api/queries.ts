import type { AnyJobSequence, JobFailure, JobSequenceStatus } from "../model/entities.ts";
import type { FailureReason, JobStatus } from "../model/job.ts";
import type { JobTypeName } from "../model/job-type-markers.ts";
import type { ExternalJobTypeName, JobOf, JobSequenceOf } from "../model/job-type-navigation.ts";
import type { StoredError } from "../model/stored-error.ts";

/** A filter takes one value or several, any of which may match. */
export type OneOrMany<T> = T | readonly T[];

/** Every filter given must match. */
export interface JobFilterOptions<
  TDefs,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs> = JobTypeName<TDefs>,
  TStatus extends JobStatus = JobStatus,
> {
  readonly id?: OneOrMany<TJobId> | undefined;
  readonly status?: OneOrMany<TStatus> | undefined;
  readonly queue?: OneOrMany<string> | undefined;
  readonly typeName?: OneOrMany<TTypeName> | undefined;
  readonly sequenceTypeName?: OneOrMany<ExternalJobTypeName<TDefs>> | undefined;
  /**
   * As given when a sequence was started, so only the first job of a sequence has one. With `sequenceTypeName`, whose keys
   * they are, the jobs are found at once.
   */
  readonly deduplicationKey?: OneOrMany<string> | undefined;
  readonly sequenceId?: TJobId | undefined;
  readonly rootSequenceId?: TJobId | undefined;
  readonly failureReason?: OneOrMany<FailureReason> | undefined;
  /** From this moment on. */
  readonly createdFrom?: Date | undefined;
  /** Up to, not including, this moment. */
  readonly createdBefore?: Date | undefined;
  /** Completed or failed from this moment on. */
  readonly finishedFrom?: Date | undefined;
  /** Completed or failed before this moment. */
  readonly finishedBefore?: Date | undefined;
}

export interface InputMatch {
  /** From the outside in: names of properties, and places in arrays. */
  readonly path: readonly (string | number)[];
  readonly equals: string | number | boolean | null;
}

export interface PageOptions {
  /** Default: 50. */
  readonly limit?: number | undefined;
  /** The `cursor` of the page before. */
  readonly cursor?: string | null | undefined;
}

export interface ListJobsOptions<
  TDefs,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
  TStatus extends JobStatus,
>
  extends JobFilterOptions<TDefs, TJobId, TTypeName, TStatus>, PageOptions {
  /**
   * Jobs whose input has this value in this place. It is a search through the jobs that the other filters leave, in the
   * order of the list and a bounded number at a time: a page can be short, or empty, and have a cursor. Only with the
   * default codec.
   */
  readonly input?: InputMatch | undefined;
  /** By creation. Default: `"newest"` first. */
  readonly order?: "newest" | "oldest" | undefined;
  /** Instead of a cursor: begins after this job, which must still be there. It need not fit the filter. */
  readonly after?: TJobId | undefined;
}

export interface JobListing<TJob> {
  readonly jobs: readonly TJob[];
  /**
   * For the next page; null on the last. A page can be shorter than asked for, or empty, and still have one: the store
   * looks at a bounded number of jobs in a call, and few of them may match the filter.
   */
  readonly cursor: string | null;
}

/** The argument of `listJobSequences`. Every filter given must match. */
export interface ListJobSequencesOptions<
  TDefs,
  TJobId extends string,
  TTypeName extends ExternalJobTypeName<TDefs>,
  TStatus extends JobSequenceStatus,
> extends PageOptions {
  /** The type of the first job. */
  readonly typeName?: OneOrMany<TTypeName> | undefined;
  /** The status of the current job, which is that of the sequence. */
  readonly status?: OneOrMany<TStatus> | undefined;
  /** Only sequences at the top of a tree: not those that a job started, nor blockers. Default: false. */
  readonly rootsOnly?: boolean | undefined;
  /** The sequences of one tree. */
  readonly rootSequenceId?: TJobId | undefined;
  /** Started at this moment or later. */
  readonly createdFrom?: Date | undefined;
  /** Started before this moment. */
  readonly createdBefore?: Date | undefined;
  /** By creation of the first job; with `status`, by creation of the current job. Default: `"newest"` first. */
  readonly order?: "newest" | "oldest" | undefined;
}

export interface JobSequenceListing<TSequence> {
  readonly sequences: readonly TSequence[];
  /** For the next page; null on the last. A page can be short, or empty, and still have one; see `JobListing`. */
  readonly cursor: string | null;
}

/** The sequences a listing can hold: those whose status is, or may be, one of those asked for. */
export type ListedJobSequence<
  TDefs,
  TJobId extends string,
  TTypeName extends ExternalJobTypeName<TDefs>,
  TStatus extends JobSequenceStatus,
> = JobSequenceStatus extends TStatus
  ? JobSequenceOf<TJobId, TDefs, TTypeName>
  : WithStatus<JobSequenceOf<TJobId, TDefs, TTypeName>, TStatus>;

type WithStatus<TSequence, TStatus> = TSequence extends { readonly status: infer TOwn }
  ? [TOwn & TStatus] extends [never]
    ? never
    : TSequence
  : never;

/** The jobs a listing can hold. Without a filter on `status` nothing is taken apart, which spares the compiler work. */
export type ListedJob<
  TDefs,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
  TStatus extends JobStatus,
> = JobStatus extends TStatus
  ? JobOf<TJobId, TDefs, TTypeName>
  : Extract<JobOf<TJobId, TDefs, TTypeName>, { readonly status: TStatus }>;

export interface JobCountRow<TTypeName> {
  readonly queue: string;
  readonly typeName: TTypeName;
  readonly status: JobStatus;
  readonly count: number;
}

/** An answer to "why is this job not running?" */
export type JobExplanation<TJobId extends string = string> = {
  /** The job that is explained. For the id of a sequence that has gone on, the job it has come to. */
  readonly jobId: TJobId;
  /** The answer as a sentence. */
  readonly summary: string;
} & (
  | {
      readonly state: "runnable";
      /** How many jobs of its queue come before it. */
      readonly aheadInQueue: number;
    }
  | { readonly state: "scheduled"; readonly until: Date }
  | {
      readonly state: "retrying";
      readonly until: Date;
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly lastError: StoredError | null;
    }
  | {
      readonly state: "blocked";
      /** The sequences it still waits for. */
      readonly by: readonly {
        readonly id: TJobId;
        readonly typeName: AnyJobSequence["typeName"];
        readonly status: Exclude<JobSequenceStatus, "completed">;
      }[];
    }
  | {
      readonly state: "running";
      readonly leasedBy: string;
      readonly leasedUntil: Date;
      readonly attempt: number;
    }
  | {
      /** Its worker has gone silent; the next claim or the reaper takes the job from there. */
      readonly state: "lease_expired";
      readonly leasedBy: string;
      readonly since: Date;
    }
  | { readonly state: "completed"; readonly at: Date; readonly by: string | null }
  | { readonly state: "failed"; readonly failure: JobFailure<TJobId> }
);
