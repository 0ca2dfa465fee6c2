import type { OrderedGroup } from "./flow-rule.ts";

/*
 * The settings of a job, from the options of a call to what is stored. A new one is added here; the compiler then asks for
 * it in parse-job-settings.ts, rules/created-job.ts, engine/view.ts and the column tables of the stores.
 */

/** What can be said of a job at its start, or of all jobs of its type. */
export interface JobSettings {
  /** The queue it waits in. Default: that of its type, else `"default"`. */
  readonly queue?: string | undefined;
  /** Higher runs first. Default: that of its type, else 0. */
  readonly priority?: number | undefined;
  /**
   * How often it may run in all. A start overrides the handler, the handler overrides the type, and the type overrides the
   * `defaults` of the instance, which say 4. A worker may cap it.
   */
  readonly maxAttempts?: number | undefined;
  /** How long one attempt may take before its signal aborts. The smaller of the job's and its type's counts. */
  readonly timeoutMs?: number | undefined;
  /**
   * The group it belongs to, such as a customer: 1 to 200 characters. Groups take turns, and limits can be set for each of
   * them (`setFlow`). Groups of different types have nothing to do with each other. Default: what `group` of its type says.
   */
  readonly group?: string | undefined;
}

/** What becomes of a blocked job when a sequence it waits for fails. */
export type OnBlockerFailure = "fail" | "wait";

/** What can be said of all jobs of a type, but not of a single one. */
export interface TypeJobSettings extends Omit<JobSettings, "group"> {
  /** How long a worker may be silent before the job is given to another one. Default: the worker's `leaseMs`. */
  readonly leaseMs?: number | undefined;
  /** What becomes of a blocked job when a sequence it waits for fails. Default: `"fail"`. */
  readonly onBlockerFailure?: OnBlockerFailure | undefined;
  /**
   * Whether the jobs of a group run one at a time, in order. Every job of the type then needs a group. When one fails for
   * good, the next goes on; with `{ onFailure: "stop" }` the group waits until that job is redriven, cancelled or deleted, or
   * the group is resumed. Default: false.
   */
  readonly ordered?: boolean | { readonly onFailure: OrderedGroup } | undefined;
}

/** What every job has of them. */
export interface VisibleJobSettings {
  readonly queue: string;
  readonly priority: number;
  readonly maxAttempts: number;
  readonly timeoutMs: number | null;
  /** The group whose line it waits in; null for none. */
  readonly group: string | null;
}

/** What is stored with a job and never changes. */
export interface StoredJobSettings extends VisibleJobSettings {
  /** False: `maxAttempts` is only a default, which a handler that names its own overrides. */
  readonly maxAttemptsGiven: boolean;
  /** The lease this job asks for; null takes the worker's. */
  readonly leaseMs: number | null;
  readonly onBlockerFailure: OnBlockerFailure;
  /** The jobs of its group run one at a time, in order; null where they need not. */
  readonly ordered: OrderedGroup | null;
}
