import type { FailureReason } from "../store/contract/job.ts";
import type { AttemptEventData, JobEventData, LeaseholdEvents } from "./events.ts";

/**
 * Turns events into metrics, and work into spans. Implement the events you count; the rest cost nothing. Called
 * synchronously on the path of the work, so it must be quick; what it throws is dropped.
 */
export type ObservabilityAdapter = {
  readonly [TName in keyof LeaseholdEvents]?: (data: LeaseholdEvents[TName]) => void;
} & {
  readonly tracing?: Tracing | undefined;
};

/**
 * Follows work from where it is asked for to where it is done: what `start` returns is stored with the job and comes
 * back at each of its attempts, in whatever process. Return undefined for what is not to be traced.
 */
export interface Tracing {
  /** Jobs are about to be created. */
  readonly start?: (data: StartTraceData) => StartTrace | undefined;
  /** An attempt begins. */
  readonly attempt?: (data: AttemptTraceData) => AttemptTrace | undefined;
}

/** What is known of a start when its span begins. */
export interface StartTraceData {
  readonly operation: "startJobSequence" | "startJobSequences" | "continueWith";
  /** At least one; what one call creates. */
  readonly jobs: readonly JobEventData[];
  /** The job that is continued. */
  readonly predecessor: { readonly id: string; readonly traceContext: string | null } | null;
}

/** The span of a start. */
export interface StartTrace {
  /** Stored with every job of the call. Printable ASCII, at most 4,096 characters; anything else is dropped. */
  readonly traceContext: string | null;
  /** Calls back once, before it returns, with the span as the current one, and returns what the callback does. */
  run<T>(callback: () => T): T;
  /** Called once: the jobs are stored, or could not be. */
  end(ending: StartTraceEnding): void;
}

/** How a start ended. */
export interface StartTraceEnding {
  /** How many of the jobs were not created because a duplicate was there. */
  readonly deduplicated: number;
  /** What the start failed with; absent when it succeeded. */
  readonly error?: unknown;
}

export interface AttemptTraceData extends AttemptEventData {
  /** What was stored when the job was started. */
  readonly traceContext: string | null;
  /** How far into its sequence the job is, from 0. */
  readonly sequenceIndex: number;
}

/** The span of an attempt. */
export interface AttemptTrace {
  /** As for `StartTrace`: what the handler does, however long, happens in this span. */
  run<T>(callback: () => T): T;
  /** The sequences the job waited for, each with what was stored when its last job was started. */
  linkBlockers?(
    blockers: readonly { readonly sequenceId: string; readonly traceContext: string | null }[],
  ): void;
  /** Called once: the outcome has been recorded, or cannot be any more. */
  end(ending: AttemptTraceEnding): void;
}

/** How an attempt ended. */
export interface AttemptTraceEnding {
  /**
   * `retried` and `failed` end in an error; `rescheduled` and `released` (by a worker that stops) give the job back;
   * with `lease_lost` nothing of the attempt counts.
   */
  readonly outcome: "completed" | "retried" | "failed" | "rescheduled" | "released" | "lease_lost";
  /** Why the signal of the attempt was aborted, for instance `timeout`; null when it was not. */
  readonly abortReason: string | null;
  /** With `failed`. */
  readonly failureReason: FailureReason | null;
  /** As stored with the job: bounded, and safe to read. */
  readonly error: Error | null;
}
