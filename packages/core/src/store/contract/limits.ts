import type { StateCall } from "./calls.ts";
import type { Schedule } from "./job.ts";

/**
 * `limit` claims for each `perMs`. Windows are half-open: of `perMs`, with the first but not the last moment.
 *
 * - Without `burst`: never more than `limit` claims in any window.
 * - With `burst`: that many may come at once, and a claim comes back every `perMs / limit`. Never more than `burst + limit - 1`
 *   claims in any window, and never more than `burst + n * limit - 1` in n of them in a row.
 */
export interface RateLimit {
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number | null;
}

/** The limits of a rule. */
export interface LimitValues {
  /** How many jobs may run at once, over all workers; null for no limit. */
  readonly concurrency: number | null;
  readonly rate: RateLimit | null;
}

/** The limits of a queue, or of one type in it. Stored, and edited while workers run. */
export interface LimitRule extends LimitValues {
  readonly queue: string;
  /** Null for the queue as a whole. */
  readonly typeName: string | null;
  /** No job is claimed. Running jobs finish. */
  readonly paused: boolean;
  /** When the pause ends by itself. Null if it has no end, and where nothing is paused. */
  readonly pausedUntil: number | null;
  /** The limits of each group. The rule of a type overrides that of its queue, which is for the groups of each type. */
  readonly perGroup: LimitValues | null;
  /** The share of each group relative to another group of the type. Default: 1. By type or queue, as above. */
  readonly weights: Readonly<Record<string, number>>;
  /** The limits of single groups, in place of `perGroup`. Only the rule of a type has any. */
  readonly groups: Readonly<Record<string, LimitValues>>;
  /** Raised by every change; 0 where nothing was ever set. */
  readonly version: number;
}

/**
 * The parts of a rule that one call changes. What is not named stays, inside `perGroup`, `weights` and `groups` as well: null
 * removes one limit, weight or group, and in place of the whole part all of them.
 */
export interface LimitRuleChange extends Partial<LimitValues> {
  readonly paused?: boolean;
  /** With `paused: true`: when the pause ends by itself. A pause without it has no end. */
  readonly pauseUntil?: Schedule | null;
  readonly perGroup?: Partial<LimitValues> | null;
  readonly weights?: Readonly<Record<string, number | null>> | null;
  readonly groups?: Readonly<Record<string, Partial<LimitValues> | null>> | null;
}

/*
 * Groups and rules: what throttles a job that could run otherwise.
 *
 * A *group* is an optional name on a job. The jobs of one queue, type and group form one *group queue*; so do the jobs of
 * a queue and type that have no group. A *rule* is for a queue, or for a type in a queue. `claimJobs` takes a job only if
 *
 * - neither its queue nor its type nor its group is paused, or the pause has ended;
 * - queue, type and group are each below their `concurrency`. A job is counted from the claim that takes it until it is
 *   no longer running, however that ends;
 * - queue, type and group each have a token left (`rate`). A claim spends the token, and nothing returns it;
 * - with `ordered`, no job of its group is running, it is the first of its group queue, and the group is not stopped.
 *
 * Counting and spending are part of the same atomic step. `nextRunnableIn` goes by the same conditions: a throttled job is
 * not runnable until a known time (a token, a retry, the end of a lease or a pause), or not in sight at all. `countAhead` of a job with
 * a group counts the jobs of its group queue that run before it; of a job without one, the jobs of its queue without a group.
 *
 * A running job with an expired lease still counts, and counts once. A claim that asks for its type treats it as if it had
 * just been reaped: job and slot come free together. So a claim may leave it pending, as `reapExpiredLeases` would, and
 * take another job instead. A job without attempts left keeps its slot until it is reaped.
 *
 * The jobs of one group queue run in the order of claims. In an ordered group, jobs that have begun (claimed at least once,
 * and now waiting for a retry, released, reaped or redriven) run before all others, by `scheduledAt` and then creation.
 * The others wait for them even while they are not due. Other jobs that are not due delay no job. All jobs of a group
 * should have the same `ordered`; where they differ, the store may treat each by its own or all as ordered.
 *
 * An ordered group is stopped when a job whose `ordered` is `stop` fails by an outcome or by its last lease. A cancelled
 * job does not stop it, nor one that fails with its blocker. Redriving or deleting (not pruning) the job that stopped it
 * resumes it, and so does `resumeGroup`. If several failed, the last one counts.
 *
 * Between the group queues of one type virtual time decides, not priority: each gets jobs in proportion to its weight. A
 * group queue that was empty or throttled gets no credit: it resumes at the virtual time that the type served last, if that
 * is later than its own.
 *
 * Between the types of a queue the order of claims decides, as in queues without rules: by priority, then `scheduledAt`, then
 * creation. The next job of a type is the first of the group queue in turn; its own priority counts, even if it has begun.
 *
 * A job without a group, in a queue without rules, is not concerned by any of this, and must cost nothing more.
 */

/** A queue, or a type in it. */
export interface LimitScope {
  readonly queue: string;
  readonly typeName: string | null;
}

export interface SetRuleCall extends LimitScope {
  readonly change: LimitRuleChange;
  /** Change nothing if the rule has another version; 0 if there must be none yet. */
  readonly expectedVersion?: number | undefined;
}

/** What became of a change of a rule. */
export interface SetRuleResult {
  readonly kind: "set" | "unchanged" | "version_mismatch";
  /** As it is now. */
  readonly rule: LimitRule;
}

/** A rule, and how much of it is in use. */
export interface LimitUse {
  readonly rule: LimitRule;
  /** The jobs counted against `concurrency`; where there is no limit, 0 or the running jobs. */
  readonly running: number;
  /** How many claims `rate` allows at once now; null without a rate. */
  readonly tokens: number | null;
  /** Group queues with jobs that can run now, and throttled ones. Up to 10,000 of each are counted. */
  readonly claimableGroups: number;
  readonly throttledGroups: number;
}

/** A group and how many of its jobs run and wait. */
export interface GroupUse {
  readonly group: string;
  readonly running: number;
  /** Due jobs of the group. Up to 1,000 are counted. */
  readonly waiting: number;
  /** Since when the first of them has been waiting; null where none is. */
  readonly waitingSince: number | null;
  /** Null when the group is not throttled. */
  readonly throttledBy: ThrottleReason | null;
  /** The job whose failure stopped it. */
  readonly stoppedBy: string | null;
  /** The group itself is paused. */
  readonly paused: boolean;
  /** When that ends by itself; null for a pause without an end, and where nothing is paused. */
  readonly pausedUntil: number | null;
}

export interface GroupScope {
  readonly queue: string;
  readonly typeName: string;
  readonly group: string;
}

/** The arguments for pausing a group. */
export interface PauseGroupCall extends GroupScope {
  /** Null for a pause without an end. Replaces the end of an earlier pause. */
  readonly until: Schedule | null;
}

/** The arguments for a page of groups. */
export interface ListGroupsCall {
  readonly queue: string;
  readonly typeName: string;
  /** True: only throttled groups. False: only groups that are not throttled. */
  readonly throttled?: boolean | undefined;
  /** `name`: by name, in the order of its UTF-8 bytes. `waiting`: longest wait first. `running`: most running jobs first. */
  readonly order: "name" | "waiting" | "running";
  readonly limit: number;
  /** With `name`: only groups whose names come after this one. */
  readonly after?: string | null | undefined;
}

/** A page of groups. */
export interface GroupPage {
  readonly groups: readonly GroupUse[];
  /** With `name`: where to go on, although the page may not be full; null at the end and for other orders. */
  readonly next: string | null;
}

/** Every reason for which a job that is due can be delayed. */
export const throttleReasons = ["paused", "concurrency", "rate", "stopped", "order"] as const;

/** Why a job that is due is delayed. */
export type ThrottleReason = (typeof throttleReasons)[number];

/** Why a pending job that is due is not claimed. */
export interface Throttle {
  readonly by: ThrottleReason;
  /** Whose rule it is: of the queue (both null), of the type, or of the group. */
  readonly queue: string;
  readonly typeName: string | null;
  readonly group: string | null;
  /** The limit that is reached (of a rate, its `limit`), and of `concurrency` how many are counted; otherwise null. */
  readonly limit: number | null;
  readonly inUse: number | null;
  /** When it ends without a change of rules or jobs; null if that is not known. */
  readonly claimableAt: number | null;
  /** Up to five jobs that hold the slots or run before it; or the failed job that stopped the group. */
  readonly jobIds: readonly string[];
}

/** What a comparison of the counters with the running jobs has corrected. */
export interface CounterRepair {
  /** The counters that differed from the jobs that are running, as they were and as they are now. */
  readonly counters: readonly {
    readonly queue: string;
    readonly typeName: string | null;
    readonly group: string | null;
    readonly was: number;
    readonly is: number;
  }[];
}

/** The optional part of the contract for limits, groups and pauses. */
export interface Limits<TTxContext> {
  /**
   * Changes the named fields and leaves the rest. Every claim that begins after this call has returned obeys the new rule.
   * Running jobs are not interrupted. With a first limit, the running jobs are counted.
   * A rate begins with all its tokens. Editing it keeps what has been spent, up to an empty bucket (`keepSpent`); changing
   * another part of a rule leaves tokens as they are. A change to the present values is `unchanged` and keeps the version.
   */
  setRule(call: StateCall<TTxContext> & SetRuleCall): Promise<SetRuleResult>;

  /**
   * All rules, or those of one queue; also types that have jobs with a group and no rule (version 0). By queue, then type;
   * the queue itself first.
   */
  listRules(call: StateCall<TTxContext> & { readonly queue: string | null }): Promise<LimitUse[]>;

  /**
   * The groups that have waiting or running jobs. Reads a bounded number of them: by name from `after` on, by an index. Pages
   * by name have every group once that had such jobs all the time, whatever other groups come and go.
   */
  listGroups(call: StateCall<TTxContext> & ListGroupsCall): Promise<GroupPage>;

  /**
   * No job of the group is claimed until then. The group need not have jobs. A claim that begins after the commit obeys.
   * Called from handlers: concurrent calls must not wait for one another.
   */
  pauseGroup(call: StateCall<TTxContext> & PauseGroupCall): Promise<void>;

  /** Ends the pause of a group, and resumes it if it is stopped. False when it was neither. */
  resumeGroup(call: StateCall<TTxContext> & GroupScope): Promise<boolean>;

  /**
   * Why a pending job that is due is throttled; null when it is not, and for jobs that are not pending or not due. Of
   * several reasons the outermost: queue, then type, then group. Goes by the conditions of `claimJobs`: a claim never takes
   * a throttled job, and takes the first of a group queue if that is not throttled.
   */
  explainThrottle(call: StateCall<TTxContext> & { readonly jobId: string }): Promise<Throttle | null>;

  /** Compares every counter with the jobs that are running. With `repair` sets it right. */
  repairCounters(call: StateCall<TTxContext> & { readonly repair: boolean }): Promise<CounterRepair>;
}
