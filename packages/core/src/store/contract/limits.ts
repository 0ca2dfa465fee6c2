import type { StateCall } from "./calls.ts";

/** Never more than `limit` claims in any window of `perMs`. */
export interface RateLimit {
  readonly limit: number;
  readonly perMs: number;
  /** How many of them may come at once. */
  readonly burst: number;
}

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
  /** The limits of each group. The rule of a type overrides that of its queue, which is for the groups of each type. */
  readonly perGroup: LimitValues | null;
  /** The share of each group relative to another group of the type. Default: 1. By type or queue, as above. */
  readonly weights: Readonly<Record<string, number>>;
  /** Raised by every change; 0 where nothing was ever set. */
  readonly version: number;
}

/** The parts of a rule that one call changes. */
export type LimitRuleChange = Partial<Omit<LimitRule, "queue" | "typeName" | "version">>;

/*
 * Groups and rules: what throttles a job that could run otherwise.
 *
 * A *group* is an optional name on a job. The jobs of one queue, type and group form one *group queue*; so do the jobs of
 * a queue and type that have no group. A *rule* is for a queue, or for a type in a queue. `claimJobs` takes a job only if
 *
 * - neither its queue nor its type is paused;
 * - queue, type and group are each below their `concurrency`. A job is counted from the claim that takes it until it is
 *   no longer running, however that ends;
 * - queue, type and group each have a token left (`rate`). A claim spends the token, and nothing returns it;
 * - with `ordered`, no job of its group is running, it is the first of its group queue, and the group is not stopped.
 *
 * Counting and spending are part of the same atomic step. `nextRunnableIn` goes by the same conditions: a throttled job is
 * not runnable until a known time (a token, a retry, the end of a lease), or not in sight at all. `countAhead` of a job with
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
 * is later than its own. The types of a queue with a rule or groups share a claim evenly; in other queues claim order holds.
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
}

export interface ListGroupsCall {
  readonly queue: string;
  readonly typeName: string;
  /** True: only throttled groups. False: only groups that are not throttled. */
  readonly throttled?: boolean | undefined;
  /** `waiting`: longest wait first. `running`: most running jobs first. */
  readonly order: "waiting" | "running";
  readonly limit: number;
}

export const throttleReasons = ["paused", "concurrency", "rate", "stopped", "order"] as const;

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

  /** The groups that have waiting or running jobs. Reads a bounded number of them. */
  listGroups(call: StateCall<TTxContext> & ListGroupsCall): Promise<GroupUse[]>;

  /** Resumes a stopped group. False when it was not stopped. */
  resumeGroup(
    call: StateCall<TTxContext> & {
      readonly queue: string;
      readonly typeName: string;
      readonly group: string;
    },
  ): Promise<boolean>;

  /**
   * Why a pending job that is due is throttled; null when it is not, and for jobs that are not pending or not due. Of
   * several reasons the outermost: queue, then type, then group. Goes by the conditions of `claimJobs`: a claim never takes
   * a throttled job, and takes the first of a group queue if that is not throttled.
   */
  explainThrottle(call: StateCall<TTxContext> & { readonly jobId: string }): Promise<Throttle | null>;

  /** Compares every counter with the jobs that are running. With `repair` sets it right. */
  repairCounters(call: StateCall<TTxContext> & { readonly repair: boolean }): Promise<CounterRepair>;
}
