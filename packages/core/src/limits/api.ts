import type { LimitRule, LimitUse, GroupUse, ThrottleReason } from "../store/contract/limits.ts";
import type { LimitRuleOptions } from "./rule.ts";

/** A queue as a whole, or the jobs of one type. Without `queue` a type means the queue that its definition names. */
export type LimitScopeOptions<TTypeName extends string> =
  | { readonly queue: string; readonly typeName?: undefined }
  | { readonly typeName: TTypeName; readonly queue?: string | undefined };

/** The argument of `limits.set`. */
export type SetLimitsOptions<TTypeName extends string> = LimitScopeOptions<TTypeName> &
  LimitRuleOptions & {
    /** Fails with `VersionMismatchError` if the rule has another version; 0 if it must be the first. */
    readonly expectedVersion?: number | undefined;
  };

/** The argument of `resume`. With `group`, it resumes a group that stopped at a failed job. */
export type ResumeOptions<TTypeName extends string> =
  | (LimitScopeOptions<TTypeName> & { readonly group?: undefined })
  | { readonly typeName: TTypeName; readonly queue?: string | undefined; readonly group: string };

/** A rule, and how much of it is in use at the moment. */
export interface LimitState extends LimitRule, Omit<LimitUse, "rule"> {}

/** The argument of `limits.listGroups`. */
export interface ListGroupsOptions<TTypeName extends string> {
  readonly typeName: TTypeName;
  /** Default: the queue that the definition of the type names. */
  readonly queue?: string | undefined;
  /** Only groups whose jobs are throttled, or only the others. */
  readonly throttled?: boolean | undefined;
  /** Groups that have waited longest first, or those with the most running jobs. Default: `"waiting"`. */
  readonly order?: "waiting" | "running" | undefined;
  /** At most 1,000. Default: 50. */
  readonly limit?: number | undefined;
}

/** A group that has waiting or running jobs. */
export interface GroupState extends Omit<GroupUse, "waitingSince"> {
  readonly waitingSince: Date | null;
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
