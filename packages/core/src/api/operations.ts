import type { CancelResult, RedriveResult } from "../contracts/state-adapter.ts";
import type { ScheduleOptions } from "../model/schedule.ts";
import type { JobFilterOptions } from "./queries.ts";

/** The argument of `waitForJobSequenceCompletion`. */
export interface WaitOptions<TJobId, TTypeName> {
  /** The sequence. */
  readonly id: TJobId;
  readonly typeName: TTypeName;
  /** Default: 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** How often to look when no notification arrives. Default: 100 ms. */
  readonly pollIntervalMs?: number | undefined;
  /** Ends the waiting, not the sequence; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface CancelledJobSequence<TJobId> {
  readonly id: TJobId;
  readonly outcome: CancelResult["kind"];
}

/** The argument of `redriveJobs`: `ids` or `filter`. */
export type RedriveOptions<TDefs, TJobId extends string> = (
  | { readonly ids: readonly TJobId[]; readonly filter?: never }
  | {
      /** Among failed jobs, so `status` is not part of it. */
      readonly filter: Omit<JobFilterOptions<TDefs, TJobId>, "status">;
      readonly ids?: never;
    }
) & {
  /** Reports what would happen and changes nothing. */
  readonly dryRun?: boolean | undefined;
  /** With `filter`: how many jobs to redrive at most. Default: 10,000. */
  readonly limit?: number | undefined;
  /** With `filter`: the `cursor` of the report before, to go on where that one met its limit. */
  readonly cursor?: string | null | undefined;
  /** None of them runs before. Default: they run now. */
  readonly schedule?: ScheduleOptions | undefined;
};

export interface RedriveReport<TJobId> {
  readonly redriven: readonly {
    readonly jobId: TJobId;
    readonly sequenceId: TJobId;
    /** Jobs that had failed because of this one, and are alive again; without those that were chosen themselves. */
    readonly revivedJobIds: readonly TJobId[];
  }[];
  readonly skipped: readonly {
    readonly jobId: TJobId;
    readonly reason: Exclude<RedriveResult["kind"], "redriven">;
  }[];
  /** Not null when the limit was met and the filter has more: pass it on to get those. */
  readonly cursor: string | null;
}

/** The argument of `pruneJobSequences`. */
export interface PruneOptions {
  /** Counted from the end of the last sequence of a tree. */
  readonly olderThanMs: number;
  /** Default: only `"completed"` ones. */
  readonly statuses?: readonly ("completed" | "failed")[] | undefined;
  /** How many trees go in one transaction. Default: 2,000. */
  readonly batchSize?: number | undefined;
}
