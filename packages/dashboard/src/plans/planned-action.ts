import type { JobFilterQuery } from "../routes/job-filter.ts";
import type { Right } from "../server/rights.ts";
import type { AnyLeasehold } from "../server/services.ts";

/** Which jobs an action is about. Those that came to match after `before` are left alone. */
export interface Choice {
  readonly ids?: readonly string[] | undefined;
  readonly filter?: JobFilterQuery | undefined;
  readonly before: Date;
  /** For an action that says when jobs are to run. */
  readonly schedule?: Schedule | undefined;
}

/** When a job is to run: at a moment, or so long after the action. */
export type Schedule = { readonly at: Date } | { readonly afterMs: number };

/** What happened to some jobs, or would. */
export interface Portion {
  /** The jobs that are changed, with those that change because of them. */
  readonly changed: readonly { readonly jobId: string; readonly revived: number }[];
  readonly skipped: readonly { readonly jobId: string; readonly reason: string }[];
  /** Where to go on; null at the end. */
  readonly cursor: string | null;
}

export interface PortionCall {
  readonly choice: Choice;
  readonly limit: number;
  readonly cursor: string | null;
  readonly dryRun: boolean;
  /** Written with jobs that are ended early. */
  readonly reason: string;
}

/** Something that can be done to many jobs: foreseen first, then done in portions. */
export interface PlannedAction {
  readonly needs: Right;
  /** Of what there are so many: jobs, or trees of jobs. */
  readonly unit: "jobs" | "trees";
  /** Cannot be undone, so the number has to be typed in. */
  readonly isFinal: boolean;
  /** It needs a schedule. */
  readonly isTimed?: boolean;
  /** The words of the command that does the same. */
  readonly command: string;
  portion(leasehold: AnyLeasehold, call: PortionCall): Promise<Portion>;
}
