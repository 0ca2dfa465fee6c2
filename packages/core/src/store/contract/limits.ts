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

/** What holds for the jobs of a queue, or for those of one type in it. Stored, and edited while workers run. */
export interface LimitRule extends LimitValues {
  readonly queue: string;
  /** Null for the queue as a whole. */
  readonly typeName: string | null;
  /** Nothing is claimed. What runs goes on. */
  readonly paused: boolean;
  /** The limits of each group. The rule of a type overrides that of its queue, which is for the groups of each type. */
  readonly perGroup: LimitValues | null;
  /** How many turns a group gets for each turn of another, by group; 1 for those not named. As above, by type or queue. */
  readonly weights: Readonly<Record<string, number>>;
  /** Raised by every change; 0 where nothing was ever set. */
  readonly version: number;
}

/** The parts of a rule that one call changes. */
export type LimitRuleChange = Partial<Omit<LimitRule, "queue" | "typeName" | "version">>;

/*
 * Groups and rules: what holds back a job that could run otherwise.
 *
 * A *group* is an optional name on a job. The jobs of one queue, type and group wait in one *line*; so do the jobs of a
 * queue and type that have no group. A *rule* is for a queue, or for a type in a queue. `claimJobs` takes a job only if
 *
 * - neither its queue nor its type is paused;
 * - queue, type and group each have room: fewer jobs are counted than `concurrency` says. A job is counted from the claim
 *   that takes it until it is no longer running, whoever ends that;
 * - queue, type and group each have a token left for it (`rate`). A claim spends the token, and nothing returns it;
 * - with `ordered`, no job of its group is running, it is the first of its line, and the group has not been stopped.
 *
 * It counts and spends in the same atomic step. `nextRunnableIn` knows all of this: a job that is held back is not runnable
 * until a moment that is known (a token, a retry, the end of a lease), or not in sight at all. `countAhead` of a job with a
 * group counts the jobs of its line that go before it; of a job without one, as ever, those of its queue that have none.
 *
 * The end of a lease: a running job counts although its lease has expired, and it counts once. What a claim does with such
 * a job of a type that it asks for is as if the job had just been reaped: job and slot come free together. So a claim may
 * leave it pending, exactly as `reapExpiredLeases` would have, and take another job in its place. A job without attempts
 * left keeps its slot until it is reaped.
 *
 * The jobs of one line run in the order of claims. In an ordered line the jobs that have begun (been claimed at least once:
 * they wait for a retry, were given back, reaped or redriven) go before all others, by `scheduledAt` and then creation, and
 * the others wait for them even while they are not due. Other jobs that are not due hold up nobody. All jobs of a group should
 * have the same `ordered`; where they differ, the store may treat each by its own or all as ordered.
 *
 * An ordered group is stopped when a job whose `ordered` is `stop` fails by an outcome or by its last lease. A cancelled
 * job does not stop it, nor one that fails with its blocker. Redriving or deleting (not pruning) the job that stopped it
 * lets it go on, and so does `resumeGroup`. If several failed, the last one counts.
 *
 * Between the lines of one type turns decide, not priority: each line gets as many jobs as the others in proportion to its
 * weight. A line that had nothing to do, or was held back, gets no credit for it: it goes on from the turn that was served
 * last (of the type: its lines may all be closed at that moment), if that is later than its own. The types of a queue that has a rule or groups share a claim
 * evenly; in other queues claim order holds.
 *
 * A job without a group, in a queue without rules, is not concerned by any of this, and must not pay for it.
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
  /** Lines with jobs that can run now, and lines whose jobs are held back. Up to 10,000 of each are counted. */
  readonly claimableGroups: number;
  readonly throttledGroups: number;
}

export interface GroupUse {
  readonly group: string;
  readonly running: number;
  /** Jobs in its line that are due. Up to 1,000 are counted. */
  readonly waiting: number;
  /** Since when the first of them has been waiting; null where none is. */
  readonly waitingSince: number | null;
  /** What holds it back; null when nothing does. */
  readonly throttledBy: ThrottleReason | null;
  /** The job whose failure stopped it. */
  readonly stoppedBy: string | null;
}

export interface ListGroupsCall {
  readonly queue: string;
  readonly typeName: string;
  /** True: only throttled groups. False: only groups that are not throttled. */
  readonly throttled?: boolean | undefined;
  /** Those that have waited longest first, or those with the most running jobs. */
  readonly order: "waiting" | "running";
  readonly limit: number;
}

export const throttleReasons = ["paused", "concurrency", "rate", "stopped", "order"] as const;

export type ThrottleReason = (typeof throttleReasons)[number];

/** What keeps a pending job from being claimed although its time has come. */
export interface Throttle {
  readonly by: ThrottleReason;
  /** Whose rule it is: of the queue (both null), of the type, or of the group. */
  readonly queue: string;
  readonly typeName: string | null;
  readonly group: string | null;
  /** The limit that is reached (of a rate, its `limit`), and of `concurrency` how many are counted; otherwise null. */
  readonly limit: number | null;
  readonly inUse: number | null;
  /** When it ends by itself, if that is known. */
  readonly claimableAt: number | null;
  /** Up to five jobs that hold the slots, or that go before it; the failed job that stopped the group. */
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
   * Changes what is named and leaves the rest. From then on claims keep to it: those that begin after this call has
   * returned, at the latest. Nothing that runs is interrupted. With a first limit, the jobs that are running are counted.
   * A rate begins with all its tokens. Editing it keeps what has been spent, up to an empty bucket (`keepSpent`); changing
   * another part of a rule leaves tokens as they are. A change to what is there already is `unchanged`, also the version.
   */
  setRule(call: StateCall<TTxContext> & SetRuleCall): Promise<SetRuleResult>;

  /**
   * All rules, or those of one queue; also types that have jobs with a group and no rule (version 0). By queue, then type;
   * the queue itself first.
   */
  listRules(call: StateCall<TTxContext> & { readonly queue: string | null }): Promise<LimitUse[]>;

  /** The groups that have waiting or running jobs. Looks at a bounded number of them. */
  listGroups(call: StateCall<TTxContext> & ListGroupsCall): Promise<GroupUse[]>;

  /** Lets a stopped group go on. False when it was not stopped. */
  resumeGroup(
    call: StateCall<TTxContext> & {
      readonly queue: string;
      readonly typeName: string;
      readonly group: string;
    },
  ): Promise<boolean>;

  /**
   * What holds a pending job back that is due; null when nothing does, and for jobs that are not pending or not due. Of
   * several reasons the outermost: queue, then type, then group. Decides by the same conditions as `claimJobs`: what is
   * held is not taken by a claim, and the first of a line is taken by a claim with room if it is not held.
   */
  explainThrottle(call: StateCall<TTxContext> & { readonly jobId: string }): Promise<Throttle | null>;

  /** Compares every counter with the jobs that are running. With `repair` sets it right. */
  repairCounters(call: StateCall<TTxContext> & { readonly repair: boolean }): Promise<CounterRepair>;
}
