import type { LimitUse } from "../../store/contract/limits.ts";
import { emptyLimitRule } from "../../store/rules/limits.ts";
import { tokensLeft } from "../../store/rules/limits.ts";
import type { QueueType } from "../job-record.ts";
import type { JobStore } from "../job-store.ts";
import { createHoldFinder, firstDue } from "../holds.ts";

const mostLines = 10_000;

type FindHold = ReturnType<typeof createHoldFinder>;

const countLines = (
  findHold: FindHold,
  types: readonly QueueType[],
  now: number,
): Pick<LimitUse, "claimableGroups" | "throttledGroups"> => {
  let [claimableGroups, throttledGroups] = [0, 0];
  for (const { ungrouped, groups } of types) {
    for (const line of [ungrouped, ...groups.values()]) {
      const first = firstDue(line, now);
      if (first === undefined) continue;
      if (findHold(first) === null) claimableGroups += 1;
      else throttledGroups += 1;
    }
  }
  return {
    claimableGroups: Math.min(claimableGroups, mostLines),
    throttledGroups: Math.min(throttledGroups, mostLines),
  };
};

const useOf = (
  { flow, runnable }: JobStore,
  findHold: FindHold,
  { queue, typeName }: { readonly queue: string; readonly typeName: string | null },
  now: number,
): LimitUse => {
  const state = flow.find(queue, typeName)?.state;
  const rule = state?.rule ?? emptyLimitRule(queue, typeName);
  const types = runnable.queueTypes(queue, typeName === null ? null : [typeName]);
  return {
    rule,
    running: types.reduce((sum, { counts }) => sum + counts.running, 0),
    tokens: rule.rate === null ? null : tokensLeft(rule.rate, state?.bucketFullAt ?? 0, now),
    ...countLines(findHold, types, now),
  };
};

const compare = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null || (b !== null && a < b) ? -1 : 1;

export const listRules = (store: JobStore, queue: string | null, now: number): LimitUse[] => {
  const scopes = new Map<string, { readonly queue: string; readonly typeName: string | null }>();
  const add = (name: string, typeName: string | null): void => {
    if (queue === null || queue === name)
      scopes.set(JSON.stringify([name, typeName]), { queue: name, typeName });
  };
  for (const { queue: name, typeName, state } of store.flow.all()) {
    if (state.rule !== undefined) add(name, typeName);
  }
  for (const { name, types } of store.runnable.queues()) {
    for (const { typeName, groups } of types.values()) if (groups.size > 0) add(name, typeName);
  }
  const findHold = createHoldFinder(store, now);
  return [...scopes.values()]
    .sort((a, b) => compare(a.queue, b.queue) || compare(a.typeName, b.typeName))
    .map((scope) => useOf(store, findHold, scope, now));
};
