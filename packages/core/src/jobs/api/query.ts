import type { JobSequenceStatus } from "../../job-types/entities.ts";
import type { JobTypeName } from "../../job-types/markers.ts";
import type { ExternalJobTypeName, JobOf, JobSequenceOf } from "../../job-types/navigation.ts";
import type { JobStatus } from "../../store/contract/job.ts";
import type { JobFilterOptions, OneOrMany } from "../filter.ts";

/** What to find in the input of a job. */
export type InputMatch =
  | {
      /** From the outside in: names of properties, and indexes of arrays. */
      readonly path: readonly (string | number)[];
      /** The value to find there. */
      readonly equals: string | number | boolean | null;
      readonly contains?: undefined;
    }
  | {
      /** A text that is part of a value or a name anywhere in it, letter for letter. At most 1,000 characters. */
      readonly contains: string;
      readonly path?: undefined;
      readonly equals?: undefined;
    };

/** Which page to read. */
export interface PageOptions {
  /** How many to read, at most 1,000. Default: 50. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. Default: the first page. */
  readonly cursor?: string | null | undefined;
}

/** The argument of `jobs.list`. */
export interface ListJobsOptions<
  TDefs,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
  TStatus extends JobStatus,
>
  extends JobFilterOptions<TDefs, TJobId, TTypeName, TStatus>, PageOptions {
  /**
   * Jobs whose input has a value in a place, or contains a text anywhere. No index helps: it searches the jobs that the other
   * filters leave, a bounded number in each call, and fewer with a codec of your own, since each input must be decoded. So a
   * page can be short, or empty, and still have a cursor. `path` needs the default codec.
   */
  readonly input?: InputMatch | undefined;
  /** The order of creation. Default: `"newest"` first. */
  readonly order?: "newest" | "oldest" | undefined;
  /** Instead of a cursor: begins after this job. The job must exist, but need not match the filter. */
  readonly after?: TJobId | undefined;
}

/** One page of jobs. */
export interface JobListing<TJob> {
  readonly jobs: readonly TJob[];
  /**
   * Pass it to the next call; null on the last page. A page can be short, or empty, and still have a cursor: the store looks
   * at a bounded number of jobs in each call, and few of them may match the filter.
   */
  readonly cursor: string | null;
  /** Of `jobs.list`, if there is a cursor: when the last job was created that it has looked at. Else null, or absent. */
  readonly searchedTo?: Date | null;
}

/** The argument of `jobs.listSequences`. Every filter given must match. */
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
  /** Only sequences at the top of a tree: without sequences that a job started, and without blockers. Default: false. */
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

/** One page of sequences. */
export interface JobSequenceListing<TSequence> {
  readonly sequences: readonly TSequence[];
  /** Pass it to the next call; null on the last page. See `JobListing`. */
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

/** How many jobs a queue has of one type in one status. */
export interface JobCountRow<TTypeName> {
  readonly queue: string;
  readonly typeName: TTypeName;
  readonly status: JobStatus;
  readonly count: number;
}
