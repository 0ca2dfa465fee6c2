import type { HoldReason } from "../contracts/state-adapter.ts";
import type { FlowLimits, FlowRule } from "../model/flow-rule.ts";
import { tokensLeft } from "./flow-rates.ts";

/** How much of some limits is in use: the jobs that are counted, and the bucket of the rate. */
export interface LimitsInUse {
  readonly running: number;
  readonly tat: number;
}

/** Which of these limits is reached, if one is. */
export const findReachedLimit = (
  { concurrency, rate }: FlowLimits,
  { running, tat }: LimitsInUse,
  now: number,
): "concurrency" | "rate" | null => {
  if (concurrency !== null && running >= concurrency) return "concurrency";
  return rate !== null && tokensLeft(rate, tat, now) < 1 ? "rate" : null;
};

/** What a rule of a queue or type holds its jobs back by, if by anything. */
export const findHoldOfRule = (
  rule: FlowRule | undefined,
  use: LimitsInUse,
  now: number,
): HoldReason | null => {
  if (rule === undefined) return null;
  return rule.paused ? "paused" : findReachedLimit(rule, use, now);
};
