import { findReachedLimit } from "../store/rules/limits.ts";
import { limitsOfGroup, type RulesOver } from "../store/rules/limits.ts";
import { nextTokenAt } from "../store/rules/limits.ts";
import type { LimitValues } from "../store/contract/limits.ts";
import type { LineState } from "./flow-cells.ts";
import { dueAtOf, type Line } from "./line.ts";

const never = Number.POSITIVE_INFINITY;

export const limitsOf = (over: RulesOver, { group, orderedJobs }: Line): LimitValues =>
  limitsOfGroup(over, { group, ordered: orderedJobs > 0 ? true : null });

/**
 * From when on a claim can take the first job of a line, as far as that is the line's own affair: `now` or before if it can
 * at once, infinity when that depends on something else than time.
 */
export const lineOpensAt = (line: Line, over: RulesOver, state: LineState, now: number): number => {
  if (line.group === null) return dueAtOf(line, now);
  if (state.stoppedBy !== null) return never;
  const limits = limitsOf(over, line);
  const reached = findReachedLimit(limits, { running: line.running, bucketFullAt: state.bucketFullAt }, now);
  if (reached === "concurrency") return never;
  const dueAt = dueAtOf(line, now);
  return reached === "rate" ? Math.max(dueAt, nextTokenAt(limits.rate!, state.bucketFullAt, now)) : dueAt;
};
