import type { SetRuleCall, SetRuleResult } from "../../store/contract/limits.ts";
import type { RateLimit, LimitRule } from "../../store/contract/limits.ts";
import { keepSpent } from "../../store/rules/limits.ts";
import { changedLimitRule, emptyLimitRule } from "../../store/rules/limits.ts";
import type { FlowCell } from "../flow-cells.ts";
import type { JobRecord } from "../job-record.ts";
import type { JobStore } from "../job-store.ts";
import { limitsOf } from "../line-limits.ts";

const bucketAfter = (
  before: RateLimit | null | undefined,
  after: RateLimit | null,
  bucketFullAt: number,
  now: number,
): number => (after === null || (before ?? null) === null ? 0 : keepSpent(after, bucketFullAt, now));

/** The buckets of groups go by the rule of their type or else of their queue, so a change of either may concern them. */
const editGroupRates = (
  { flow }: JobStore,
  { queue, typeName }: FlowCell,
  rule: LimitRule,
  now: number,
): void => {
  for (const cell of flow.all()) {
    if (cell.queue !== queue || cell.typeName === null || (typeName ?? cell.typeName) !== cell.typeName)
      continue;
    const over = flow.rulesOver(queue, cell.typeName);
    const before = (over.type?.perGroup ?? over.queue?.perGroup)?.rate ?? null;
    const next = typeName === null ? { ...over, queue: rule } : { ...over, type: rule };
    const after = (next.type?.perGroup ?? next.queue?.perGroup)?.rate ?? null;
    if (before === after) continue;
    for (const [group, { bucketFullAt }] of cell.lines) {
      const edited = bucketAfter(before, after, bucketFullAt, now);
      if (edited !== bucketFullAt) flow.setLine(cell, group, { bucketFullAt: edited });
    }
  }
};

/** Jobs that run already are counted against a new limit, and say so. */
const markLimited = (store: JobStore, queue: string): void => {
  const inQueue: JobRecord[] = [];
  for (const record of store.runnable.running()) if (record.row.queue === queue) inQueue.push(record);
  for (const record of inQueue) {
    const { row, line } = record;
    const over = store.flow.rulesOver(queue, row.typeName);
    const limits = [over.queue, over.type, limitsOf(over, line)];
    const limited = limits.some((each) => (each?.concurrency ?? null) !== null);
    if (limited !== row.limited) store.update(record, { ...row, limited });
  }
};

export const setRule = (
  store: JobStore,
  { queue, typeName, change, expectedVersion }: SetRuleCall,
  now: number,
): SetRuleResult => {
  const { flow, runnable } = store;
  const cell = flow.open(queue, typeName);
  const before = cell.state.rule ?? emptyLimitRule(queue, typeName);
  if (expectedVersion !== undefined && expectedVersion !== before.version)
    return { kind: "version_mismatch", rule: before };
  const rule = changedLimitRule(before, change);
  if (rule === before) return { kind: "unchanged", rule };

  editGroupRates(store, cell, rule, now);
  const isSameRate = rule.rate === before.rate;
  flow.setState(cell, {
    rule,
    bucketFullAt: isSameRate
      ? cell.state.bucketFullAt
      : bucketAfter(before.rate, rule.rate, cell.state.bucketFullAt, now),
  });
  markLimited(store, queue);
  runnable.reconsider({ queue, typeName });
  return { kind: "set", rule };
};
