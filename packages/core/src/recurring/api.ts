import type { JobTypeName } from "../job-types/markers.ts";
import type { HasBlockers } from "../job-types/navigation.ts";
import type { PageOptions } from "../jobs/api/query.ts";
import type { InputOption } from "../jobs/api/start.ts";
import type { TickResult } from "../observability/events.ts";
import type { JobSettings, VisibleJobSettings } from "../store/contract/job.ts";
import type { CatchUpPolicy, OverlapPolicy } from "./definition.ts";

/** When a recurring job comes: by a cron expression, or at an interval. */
export type RecurringTimes = {
  /** Not before this moment. Default: at once. */
  readonly startAt?: Date | null | undefined;
  /** Only before this time. Default: no end. */
  readonly endAt?: Date | null | undefined;
} & (
  | {
      /**
       * Five fields (minute, hour, day, month, weekday), six with a leading second, or an alias such as `@daily`. Day and
       * weekday together mean either of them.
       */
      readonly cron: string;
      /** An IANA name such as `"Europe/Berlin"`. Default: `"UTC"`, whatever the machine's time zone. */
      readonly timeZone?: string | undefined;
      readonly everyMs?: never;
      readonly anchorAt?: never;
    }
  | {
      /** The interval, at least 1,000. It does not drift. */
      readonly everyMs: number;
      /** A moment to count from. Default: `startAt`, or else the epoch, so that an hour is a full hour. */
      readonly anchorAt?: Date | undefined;
      readonly cron?: never;
      readonly timeZone?: never;
    }
);

/** What is to happen at a time. */
export interface RecurringPolicies {
  /**
   * When the sequence that was started last has not finished: `"skip"` the time (default), let one run wait (`"queue_one"`),
   * cancel the old one (`"replace"`), or start another one (`"allow"`).
   */
  readonly overlap?: OverlapPolicy | undefined;
  /**
   * When several times are due at once, after however short a gap: run the latest one and drop the others (`"last"`,
   * default), run `"all"` of them, which needs `overlap: "allow"`, or run the latest only if it is at most a minute late
   * (`"none"`).
   */
  readonly catchUp?: CatchUpPolicy | undefined;
  /** A time that is later than this is dropped. Default: a day. At least a minute. */
  readonly catchUpWindowMs?: number | undefined;
  /**
   * Spreads the load: each run begins up to this much later, always the same for a job and time. A jitter longer than the
   * interval spreads runs over the whole interval. Default: 0.
   */
  readonly jitterMs?: number | undefined;
}

interface RecurringBasics extends RecurringPolicies {
  /** Your name for it, 1 to 200 characters. */
  readonly id: string;
  /** Default: false for a new one. If it is left out, an existing one stays as it is. */
  readonly paused?: boolean | undefined;
}

declare const refused: unique symbol;

/** Replaces the name of a type with blockers, which a recurring job cannot start. The compiler shows this name. */
interface JobTypeWithBlockersCannotRecur<TTypeName> {
  readonly [refused]: TTypeName;
}

type RecurrableOption<TDefs> = {
  [K in JobTypeName<TDefs>]: HasBlockers<TDefs, K> extends true
    ? { readonly typeName: JobTypeWithBlockersCannotRecur<K> }
    : unknown;
};

/** The job that is started each time. */
export type RecurringJobTemplate<TDefs, TTypeName extends JobTypeName<TDefs>> = JobSettings & {
  /** Its type. Types with blockers cannot recur. */
  readonly typeName: TTypeName;
} & RecurrableOption<TDefs>[NoInfer<TTypeName>] &
  InputOption<TDefs, NoInfer<TTypeName>>;

/** The argument of `recurring.put`, without the transaction. */
export type PutRecurringJobOptions<TDefs, TTypeName extends JobTypeName<TDefs>> = RecurringBasics &
  RecurringTimes & {
    readonly job: RecurringJobTemplate<TDefs, TTypeName>;
    /** The `version` you have read; 0 if there must be none. Otherwise nothing is written: `VersionMismatchError`. */
    readonly expectedVersion?: number | undefined;
  };

/** The argument of `recurring.update`, without the transaction: at least one change. What is not named stays. */
export interface UpdateRecurringJobOptions extends RecurringPolicies {
  readonly id: string;
  /** Replaces an interval, too. */
  readonly cron?: string | undefined;
  readonly timeZone?: string | undefined;
  /** Replaces a cron expression, too. */
  readonly everyMs?: number | undefined;
  readonly anchorAt?: Date | undefined;
  readonly startAt?: Date | null | undefined;
  readonly endAt?: Date | null | undefined;
  /** Replaces the input of its job, and must fit its type. */
  readonly input?: unknown;
  /** As for `recurring.put`. */
  readonly expectedVersion?: number | undefined;
}

/** One of `recurringJobs` of `createLeasehold`. */
export type DeclaredRecurringJob<TDefs, TTypeName extends JobTypeName<TDefs>> = TTypeName extends unknown
  ? RecurringBasics & RecurringTimes & { readonly job: RecurringJobTemplate<TDefs, TTypeName> }
  : never;

/** The recurring jobs that a program has in its code. */
export interface RecurringJobDeclarations<TDefs, TTypeName extends JobTypeName<TDefs>> {
  /** Put when Leasehold is created, each one only if it has changed. */
  readonly jobs: readonly DeclaredRecurringJob<TDefs, TTypeName>[];
  /** The name of the program. Two programs that share a store need two. Default: `"default"`. */
  readonly owner?: string | undefined;
  /**
   * Deletes recurring jobs that the same owner declared earlier and that `jobs` no longer contains. Default: false.
   */
  readonly removeOthers?: boolean | undefined;
}

/** What became of a time. */
export interface RecurringJobTick<TJobId> {
  /**
   * `"started"`: a job. `"caught_up"`: a job, more than a minute late. `"skipped"`: none, by the `overlap` policy.
   * `"dropped"`: none, because a later time overtook it or it was too late for `catchUp`.
   */
  readonly result: TickResult;
  /** The time it was for. */
  readonly nominalAt: Date;
  /** When it was decided. */
  readonly at: Date;
  /** How many times in a row were dropped, up to `nominalAt`; 1 for other results. Counted up to 1,000. */
  readonly count: number;
  /** The sequence that was started; if it was skipped, the one that had not finished. */
  readonly sequenceId: TJobId | null;
  /** It was asked for by `recurring.trigger`. */
  readonly triggered: boolean;
}

/** Why the job of a recurring job cannot be started. */
export interface RecurringJobFailure {
  /** The first of the tries that failed. */
  readonly since: Date;
  readonly tries: number;
  readonly error: { readonly name: string; readonly message: string };
  /** When it is tried again; null while it is paused. */
  readonly retryAt: Date | null;
}

/** A recurring job as it is stored. */
export interface RecurringJob<TJobId> {
  readonly id: string;
  /** Rises with every change by a call, not with its ticks. */
  readonly version: number;
  readonly cron: string | null;
  readonly timeZone: string | null;
  readonly everyMs: number | null;
  readonly anchorAt: Date | null;
  readonly startAt: Date | null;
  readonly endAt: Date | null;
  readonly overlap: OverlapPolicy;
  readonly catchUp: CatchUpPolicy;
  readonly catchUpWindowMs: number;
  readonly jitterMs: number;
  readonly job: VisibleJobSettings & { readonly typeName: string; readonly input: unknown };
  readonly paused: boolean;
  /** The program that declared it in `recurringJobs`; null if it was put by a call. */
  readonly owner: string | null;
  /** The next time; null when it is paused or there is none any more. */
  readonly nextAt: Date | null;
  /** The time whose run waits for the last sequence to finish. */
  readonly waitingFor: Date | null;
  /** The sequence that was started last. It may have been deleted since. */
  readonly lastSequenceId: TJobId | null;
  /** Set while its job cannot be started for a reason that is not transient. Null after the next start. */
  readonly failure: RecurringJobFailure | null;
  /** How many times ended how, since it was created. */
  readonly counts: Readonly<Record<TickResult, number>>;
  /** The latest times, the newest first, up to 20. */
  readonly recent: readonly RecurringJobTick<TJobId>[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The argument of `recurring.list`. */
export interface ListRecurringJobsOptions extends PageOptions {
  /** Only recurring jobs that this program declared. */
  readonly owner?: string | undefined;
}

/** One page of recurring jobs, in the order of their ids. */
export interface RecurringJobListing<TJobId> {
  readonly recurringJobs: readonly RecurringJob<TJobId>[];
  /** Null when there are no more. */
  readonly cursor: string | null;
}

/** What `recurring.trigger` did. */
export interface TriggeredRecurringJob<TJobId> {
  /** By the `overlap` policy: `"skipped"`, or `"waiting"` with `"queue_one"`, while the last sequence has not finished. */
  readonly result: "started" | "skipped" | "waiting";
  /** The sequence that was started; if it was skipped, the one that has not finished. */
  readonly sequenceId: TJobId | null;
}

/** The argument of `recurring.preview`: times as for `recurring.put`, or the `id` of one that is stored. */
export type PreviewRecurringJobOptions = (RecurringTimes | { readonly id: string }) & {
  /** How many times. Default: 10, at most 1,000. */
  readonly count?: number | undefined;
  /** Times after this moment. Default: now, by the store's clock. */
  readonly from?: Date | undefined;
};

/** A time at which a recurring job comes. */
export interface PreviewedTime {
  readonly at: Date;
  /** What clocks in its zone show, with their offset: `"2026-10-25T02:30:00+02:00"`. */
  readonly local: string;
}
