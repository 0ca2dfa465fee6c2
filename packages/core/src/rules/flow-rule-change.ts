import type { FlowLimits, FlowRate, FlowRule, FlowRuleChange } from "../model/flow-rule.ts";

/** The rule of a queue or type for which nothing was ever set. */
export const emptyFlowRule = (queue: string, typeName: string | null): FlowRule => ({
  queue,
  typeName,
  paused: false,
  concurrency: null,
  rate: null,
  perGroup: null,
  weights: {},
  agePriorityMs: null,
  version: 0,
});

const isSameRate = (a: FlowRate | null, b: FlowRate | null): boolean =>
  a === b || (a !== null && b !== null && a.limit === b.limit && a.perMs === b.perMs && a.burst === b.burst);

const isSameLimits = (a: FlowLimits | null, b: FlowLimits | null): boolean =>
  (a?.concurrency ?? null) === (b?.concurrency ?? null) && isSameRate(a?.rate ?? null, b?.rate ?? null);

const isSameWeights = (a: FlowRule["weights"], b: FlowRule["weights"]): boolean => {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && a[name] === b[name])
  );
};

const isSameRule = (a: FlowRule, b: FlowRule): boolean =>
  a.paused === b.paused &&
  isSameLimits(a, b) &&
  isSameLimits(a.perGroup, b.perGroup) &&
  isSameWeights(a.weights, b.weights) &&
  a.agePriorityMs === b.agePriorityMs;

/** The rule after a change, with the next version. The rule itself when the change says nothing new. */
export const changedFlowRule = (rule: FlowRule, change: FlowRuleChange): FlowRule => {
  const named = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const { perGroup, ...rest }: FlowRule = { ...rule, ...(named as FlowRuleChange) };
  // Limits that limit nothing are none.
  const limitsGroups = perGroup !== null && (perGroup.concurrency !== null || perGroup.rate !== null);
  const next: FlowRule = { ...rest, perGroup: limitsGroups ? perGroup : null };
  return isSameRule(rule, next) ? rule : { ...next, version: rule.version + 1 };
};
