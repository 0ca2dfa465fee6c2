import type { FlowLimits, FlowRule } from "../model/flow-rule.ts";

const noLimits: FlowLimits = { concurrency: null, rate: null };

/** The rules over a job: that of its queue and that of its type in this queue, where there are any. */
export interface RulesOver {
  readonly queue: FlowRule | undefined;
  readonly type: FlowRule | undefined;
}

/** The limits of one group, or of the line of jobs without a group, which has none. */
export const limitsOfLine = (
  { queue, type }: RulesOver,
  { group, ordered }: { readonly group: string | null; readonly ordered: unknown },
): FlowLimits => {
  if (group === null) return noLimits;
  const limits = type?.perGroup ?? queue?.perGroup ?? noLimits;
  return ordered === null ? limits : { ...limits, concurrency: 1 };
};

export const weightOfGroup = ({ queue, type }: RulesOver, group: string | null): number => {
  if (group === null) return 1;
  for (const rule of [type, queue]) {
    if (rule !== undefined && Object.hasOwn(rule.weights, group)) return rule.weights[group] ?? 1;
  }
  return 1;
};

export const agePriorityMsOf = ({ queue, type }: RulesOver): number | null =>
  type?.agePriorityMs ?? queue?.agePriorityMs ?? null;

/**
 * The priority by which a job takes its place in line when waiting counts. Two waiting jobs never change order, because
 * both age alike: so it is fixed once a job is due, and an index can hold it.
 */
export const agedPriority = (priority: number, dueAt: number, agePriorityMs: number | null): number =>
  agePriorityMs === null ? priority : priority - Math.floor(dueAt / agePriorityMs);
