import type { AcceptedInput, JobTypeName } from "../../job-types/markers.ts";
import type { WaitingJobResult } from "../../store/contract/edits.ts";
import type { JobStatus, ScheduleOptions } from "../../store/contract/job.ts";
import type { CancelResult, RedriveResult } from "../../store/contract/outcomes.ts";
import type { JobFilterOptions } from "../filter.ts";

/** How `waitForJobSequenceCompletion` waits. */
export interface WaitSettings {
  /** How long to wait at most. Default: 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** How often to look when no notification arrives. Default: 100 ms. */
  readonly pollIntervalMs?: number | undefined;
  /** Stops waiting, and rejects with the reason of the signal. The sequence goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** The first argument of `waitForJobSequenceCompletion`: the sequence, and how to wait unless the second one has that. */
export interface WaitOptions<TJobId, TTypeName> extends WaitSettings {
  /** The id of the sequence. */
  readonly id: TJobId;
  /** The type of its first job. */
  readonly typeName: TTypeName;
}

/** Which jobs an operation changes: `ids` or `filter`. */
export type JobChoice<TDefs, TJobId extends string, TStatus extends JobStatus> = (
  | {
      /** The ids of the jobs; for `jobs.cancel` those of the sequences. */
      readonly ids: readonly TJobId[];
      readonly filter?: never;
    }
  | FilterChoice<TDefs, TJobId, TStatus>
) &
  ChoiceOptions;

interface FilterChoice<TDefs, TJobId extends string, TStatus extends JobStatus> {
  /** Finds jobs in the statuses that the operation can change; with `status`, in these only. */
  readonly filter: JobFilterOptions<TDefs, TJobId, JobTypeName<TDefs>, TStatus>;
  readonly ids?: never;
  readonly rootSequenceIds?: never;
}

interface ChoiceOptions {
  /** Reports what would happen and changes nothing. */
  readonly dryRun?: boolean | undefined;
  /** With `filter`: how many jobs at most. Default: 10,000. */
  readonly limit?: number | undefined;
  /** With `filter`: the `cursor` of the previous report, to continue where it reached its limit. */
  readonly cursor?: string | null | undefined;
}

/** What an operation on chosen jobs did, or would do in a dry run. */
export interface ChangeReport<TChanged, TSkipped> {
  /** What was changed. */
  readonly changed: readonly TChanged[];
  /** What was left as it is, with the reason. */
  readonly skipped: readonly TSkipped[];
  /** Null when the filter has no more jobs. Otherwise pass it to the next call to continue. */
  readonly cursor: string | null;
}

/** The argument of `jobs.cancel`. A filter finds unfinished jobs, and their sequences are cancelled. */
export type CancelOptions<TDefs, TJobId extends string> = JobChoice<
  TDefs,
  TJobId,
  "blocked" | "pending" | "running"
> & {
  /** Stored as the error message of the jobs. */
  readonly reason?: string | undefined;
  /**
   * Also cancels what jobs of these sequences have started, and what those have started: children, their children, and
   * blockers that were started with them. Also below sequences of `ids` that have finished. Default: false.
   */
  readonly withChildren?: boolean | undefined;
};

/**
 * What `jobs.cancel` did, by sequence, with the children after the chosen ones. A sequence that was cancelled before counts
 * as changed.
 */
export type CancelReport<TJobId> = ChangeReport<
  {
    readonly id: TJobId;
    /** The jobs that waited for it and have failed with `blocker_failed`, and jobs that waited for those. */
    readonly failedIds: readonly TJobId[];
  },
  { readonly id: TJobId; readonly reason: Exclude<CancelResult["kind"], "cancelled"> }
>;

/** The argument of `jobs.redrive`: the failed jobs to run again. */
export type RedriveOptions<TDefs, TJobId extends string> = JobChoice<TDefs, TJobId, "failed"> & {
  /** When they may run. Default: now. */
  readonly schedule?: ScheduleOptions | undefined;
};

/** What `jobs.redrive` did. */
export type RedriveReport<TJobId> = ChangeReport<
  {
    readonly id: TJobId;
    readonly sequenceId: TJobId;
    /** Jobs that had failed because of this one and wait again. Chosen jobs are not repeated. */
    readonly revivedIds: readonly TJobId[];
  },
  { readonly id: TJobId; readonly reason: Exclude<RedriveResult["kind"], "redriven"> }
>;

/** The argument of `jobs.update`: which waiting jobs, and at least one change. */
export type UpdateOptions<TDefs, TJobId extends string, TTypeName extends JobTypeName<TDefs>> = JobChoice<
  TDefs,
  TJobId,
  "blocked" | "pending"
> & {
  /** When they may run. A due job keeps its place in the order if this is now or in the past. */
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

/** What `jobs.update` did. `status` of a skipped job is null if there is no job. */
export type UpdateReport<TJobId> = ChangeReport<
  {
    readonly id: TJobId;
    readonly sequenceId: TJobId;
    readonly status: "blocked" | "pending";
    readonly scheduledAt: Date;
    readonly priority: number;
  },
  {
    readonly id: TJobId;
    readonly reason: Exclude<WaitingJobResult["kind"], "changed">;
    readonly status: JobStatus | null;
  }
>;

/** The argument of `deleteJobSequences`. */
export type DeleteOptions<TDefs, TJobId extends string> = (
  | {
      /** The ids of the sequences at the top of the trees. All are deleted or none, unless `onlyFinished` is given. */
      readonly rootSequenceIds: readonly TJobId[];
      readonly filter?: never;
    }
  | FilterChoice<TDefs, TJobId, "completed" | "failed">
) &
  ChoiceOptions & {
    /** Skips trees with unfinished jobs. Default: true with `filter`, else false. Trees with dependants are skipped, too. */
    readonly onlyFinished?: boolean | undefined;
  };

/** What `deleteJobSequences` did, by root sequence, with the number of deleted jobs. */
export type DeleteReport<TJobId> = ChangeReport<
  { readonly id: TJobId; readonly jobs: number },
  { readonly id: TJobId; readonly reason: "not_found" | "unfinished" | "has_dependants" }
>;

/** The argument of `jobs.prune`. */
export interface PruneOptions {
  /** How long ago the last sequence of a tree must have finished. */
  readonly olderThanMs: number;
  /** Which trees to delete. Default: `["completed"]`, trees without failed sequences. */
  readonly statuses?: readonly ("completed" | "failed")[] | undefined;
  /** How many trees are deleted in one transaction. Default: 2,000. */
  readonly batchSize?: number | undefined;
}
