import type { LimitRule, LimitUse, GroupUse, ThrottleReason } from "../store/contract/limits.ts";
import type { ScheduleOptions } from "../store/contract/job.ts";
import type { GroupLimitOptions, LimitRuleOptions } from "./rule.ts";

/**
 * A queue as a whole, or the jobs of one type. Without `queue` a type means the queue that its definition names. If the process
 * has no definition of it, the queue with its jobs; the default queue if there is none, `QueueRequiredError` if there are several.
 */
export type LimitScopeOptions<TTypeName extends string> =
  | { readonly queue: string; readonly typeName?: undefined }
  | { readonly typeName: TTypeName; readonly queue?: string | undefined };

/** The argument of `limits.set`. */
export type SetLimitsOptions<TTypeName extends string> = (
  | (LimitScopeOptions<TTypeName> & LimitRuleOptions & { readonly group?: undefined })
  | NamedGroupOptions<TTypeName>
) & {
  /** Fails with `VersionMismatchError` if the rule has another version; 0 if it must be the first. */
  readonly expectedVersion?: number | undefined;
};

/** The limits of one group of a type, in place of `perGroup`. Without any of its own, `perGroup` is for it again. */
export interface NamedGroupOptions<TTypeName extends string> extends GroupLimitOptions {
  readonly typeName: TTypeName;
  readonly queue?: string | undefined;
  readonly group: string;
}

/** A queue, the jobs of one type, or one group of a type. */
export type GroupScopeOptions<TTypeName extends string> =
  | (LimitScopeOptions<TTypeName> & { readonly group?: undefined })
  | { readonly typeName: TTypeName; readonly queue?: string | undefined; readonly group: string };

/** The argument of `limits.pause`. */
export type PauseOptions<TTypeName extends string> = GroupScopeOptions<TTypeName> & {
  /** When the pause ends by itself: a date, or a time from now. Default: no end. */
  readonly until?: ScheduleOptions | undefined;
};

/** The argument of `limits.resume`. With `group`, it ends the pause of a group, also if the group stopped at a failed job. */
export type ResumeOptions<TTypeName extends string> = GroupScopeOptions<TTypeName>;

/** A rule, and how much of it is in use at the moment. */
export interface LimitState extends Omit<LimitRule, "pausedUntil">, Omit<LimitUse, "rule"> {
  /** When the pause ends by itself. Null if it has no end, and where nothing is paused. */
  readonly pausedUntil: Date | null;
}

/** The argument of `limits.listGroups`. */
export interface ListGroupsOptions<TTypeName extends string> {
  readonly typeName: TTypeName;
  /** Default: the queue that the definition of the type names, or else the one with its jobs. */
  readonly queue?: string | undefined;
  /** Only groups whose jobs are throttled, or only the others. */
  readonly throttled?: boolean | undefined;
  /**
   * By name, in pages; or the groups that have waited longest, or those with the most running jobs, without a cursor. Default:
   * `"name"`.
   */
  readonly order?: "name" | "waiting" | "running" | undefined;
  /** At most 1,000. Default: 50. */
  readonly limit?: number | undefined;
  /** Of an earlier page by name. */
  readonly cursor?: string | null | undefined;
}

/** A page of groups. */
export interface GroupListing {
  readonly groups: readonly GroupState[];
  /** Continues the listing by name; null at the end. There may be more while it is not null, even if the page is not full. */
  readonly cursor: string | null;
}

/** A group that has waiting or running jobs. */
export interface GroupState extends Omit<GroupUse, "waitingSince" | "pausedUntil"> {
  readonly waitingSince: Date | null;
  /** When the pause of the group ends by itself. Null if it has no end, and where nothing is paused. */
  readonly pausedUntil: Date | null;
}

/** What holds back a job whose time has come. */
export interface JobThrottle<TJobId extends string = string> {
  readonly by: ThrottleReason;
  /** Whose rule it is: the queue's, the type's, or the group's. */
  readonly scope: { readonly queue: string; readonly typeName: string | null; readonly group: string | null };
  /** The limit that is reached; null for pauses, order and stopped groups. */
  readonly limit: number | null;
  readonly inUse: number | null;
  /** When it ends by itself, if that is known. */
  readonly claimableAt: Date | null;
  /** Up to five of the jobs that it waits for. */
  readonly jobIds: readonly TJobId[];
}
