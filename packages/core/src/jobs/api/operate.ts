import type { AcceptedInput, JobTypeName } from "../../job-types/markers.ts";
import type { WaitingJobResult } from "../../store/contract/edits.ts";
import type { JobStatus, ScheduleOptions } from "../../store/contract/job.ts";
import type { CancelResult, RedriveResult } from "../../store/contract/outcomes.ts";
import type { JobFilterOptions } from "./query.ts";

/** The argument of `waitForJobSequenceCompletion`. */
export interface WaitOptions<TJobId, TTypeName> {
  /** The id of the sequence. */
  readonly id: TJobId;
  /** The type of its first job. */
  readonly typeName: TTypeName;
  /** How long to wait at most. Default: 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** How often to look when no notification arrives. Default: 100 ms. */
  readonly pollIntervalMs?: number | undefined;
  /** Stops waiting, and rejects with the reason of the signal. The sequence goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** What `jobs.cancel` did with one sequence. */
export interface CancelledJobSequence<TJobId> {
  readonly id: TJobId;
  /** `"cancelled"`, also if it was cancelled before; else why it could not be. */
  readonly outcome: CancelResult["kind"];
}

/** Which jobs an operation is about: `ids` or `filter`. */
export type JobChoice<TDefs, TJobId extends string> = (
  | {
      /** The ids of the jobs. */
      readonly ids: readonly TJobId[];
      readonly filter?: never;
    }
  | {
      /** Which of the jobs that the operation can change. */
      readonly filter: Omit<JobFilterOptions<TDefs, TJobId>, "status">;
      readonly ids?: never;
    }
) & {
  /** Reports what would happen and changes nothing. */
  readonly dryRun?: boolean | undefined;
  /** With `filter`: how many jobs at most. Default: 10,000. */
  readonly limit?: number | undefined;
  /** With `filter`: the `cursor` of the previous report, to continue where it reached its limit. */
  readonly cursor?: string | null | undefined;
};

/** The argument of `jobs.redrive`: the failed jobs to run again. */
export type RedriveOptions<TDefs, TJobId extends string> = JobChoice<TDefs, TJobId> & {
  /** When they may run. Default: now. */
  readonly schedule?: ScheduleOptions | undefined;
};

/** What `jobs.redrive` did. */
export interface RedriveReport<TJobId> {
  /** The jobs that will run again. */
  readonly redriven: readonly {
    readonly jobId: TJobId;
    readonly sequenceId: TJobId;
    /** Jobs that had failed because of this one and wait again. Jobs that were chosen themselves are not repeated. */
    readonly revivedJobIds: readonly TJobId[];
  }[];
  /** The jobs that were left as they are, with the reason. */
  readonly skipped: readonly {
    readonly jobId: TJobId;
    readonly reason: Exclude<RedriveResult["kind"], "redriven">;
  }[];
  /** Null when the filter has no more jobs. Otherwise pass it to the next call to continue. */
  readonly cursor: string | null;
}

/** The argument of `jobs.update`: which jobs, and at least one thing to change. */
export type UpdateWaitingJobsOptions<
  TDefs,
  TJobId extends string,
  TTypeName extends JobTypeName<TDefs>,
> = JobChoice<TDefs, TJobId> & {
  /** When they may run. A job that is due keeps its place in line if this is now or in the past. */
  readonly schedule?: ScheduleOptions | undefined;
  /** Their priority from now on. */
  readonly priority?: number | undefined;
} & (
    | {
        /** The type of the jobs that get the new input. Jobs of other types are skipped. */
        readonly typeName: TTypeName;
        /** Replaces the input. A job that waits for a retry begins again with its first attempt. */
        readonly input: AcceptedInput<TDefs, NoInfer<TTypeName>>;
      }
    | { readonly typeName?: undefined; readonly input?: undefined }
  );

/** What `jobs.update` did. */
export interface UpdateWaitingJobsReport<TJobId> {
  /** The jobs that were changed, as they wait now. */
  readonly updated: readonly {
    readonly jobId: TJobId;
    readonly sequenceId: TJobId;
    readonly status: "blocked" | "pending";
    readonly scheduledAt: Date;
    readonly priority: number;
  }[];
  /** The jobs that were left as they are, with the reason. `status` is their status, null where there is no job. */
  readonly skipped: readonly {
    readonly jobId: TJobId;
    readonly reason: Exclude<WaitingJobResult["kind"], "changed">;
    readonly status: JobStatus | null;
  }[];
  /** Null when the filter has no more jobs. Otherwise pass it to the next call to continue. */
  readonly cursor: string | null;
}

/** The argument of `jobs.prune`. */
export interface PruneOptions {
  /** How long ago the last sequence of a tree must have finished. */
  readonly olderThanMs: number;
  /** Which trees to delete. Default: `["completed"]`, trees without failed sequences. */
  readonly statuses?: readonly ("completed" | "failed")[] | undefined;
  /** How many trees are deleted in one transaction. Default: 2,000. */
  readonly batchSize?: number | undefined;
}
