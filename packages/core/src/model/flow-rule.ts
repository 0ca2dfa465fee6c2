/** Never more than `limit` claims in any window of `perMs`. */
export interface FlowRate {
  readonly limit: number;
  readonly perMs: number;
  /** How many of them may come at once. */
  readonly burst: number;
}

export interface FlowLimits {
  /** How many jobs may run at once, over all workers; null for no limit. */
  readonly concurrency: number | null;
  readonly rate: FlowRate | null;
}

/** What holds for the jobs of a queue, or for those of one type in it. Stored, and edited while workers run. */
export interface FlowRule extends FlowLimits {
  readonly queue: string;
  /** Null for the queue as a whole. */
  readonly typeName: string | null;
  /** Nothing is claimed. What runs goes on. */
  readonly paused: boolean;
  /** The limits of each group. The rule of a type overrides that of its queue, which is for the groups of each type. */
  readonly perGroup: FlowLimits | null;
  /** How many turns a group gets for each turn of another, by group; 1 for those not named. As above, by type or queue. */
  readonly weights: Readonly<Record<string, number>>;
  /** A job that has waited this long goes before one of the next higher priority. By type, else queue; null: never. */
  readonly agePriorityMs: number | null;
  /** Raised by every change; 0 where nothing was ever set. */
  readonly version: number;
}

/** The parts of a rule that one call changes. */
export type FlowRuleChange = Partial<Omit<FlowRule, "queue" | "typeName" | "version">>;

/** What an ordered group does when one of its jobs has failed for good: goes on with the next, or stops. */
export type OrderedGroup = "continue" | "stop";
