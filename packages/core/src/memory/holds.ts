import type { Hold, HoldReason } from "../contracts/state-adapter.ts";
import type { FlowLimits, FlowRule } from "../model/flow-rule.ts";
import { findReachedLimit } from "../rules/flow-holds.ts";
import { nextTokenAt } from "../rules/flow-rates.ts";
import { runnableFrom } from "../rules/runnable.ts";
import type { JobRecord, RunnableEntry } from "./job-record.ts";
import type { JobStore } from "./job-store.ts";
import { firstOf, hasBegun, type Line, pendingOf } from "./line.ts";
import { limitsOf } from "./line-limits.ts";
import { runsBefore } from "./timed-queue.ts";

const mostIds = 5;

/** Whether a claim would put this running job back, because its lease has expired. */
const isFree = ({ row }: JobRecord, now: number): boolean =>
  row.status === "running" && (runnableFrom(row) ?? Number.POSITIVE_INFINITY) <= now;

const goesBefore = (a: RunnableEntry, b: RunnableEntry): boolean => {
  const [aBegun, bBegun] = [a, b].map(({ record }) => hasBegun(record.row));
  if (aBegun !== bBegun) return aBegun === true;
  if (aBegun === true) return a.at !== b.at ? a.at < b.at : a.record.order < b.record.order;
  return runsBefore(a, b);
};

/** The jobs of an ordered line that this one waits for: the one that runs, and those that go before it. */
const findAhead = ({ runnable }: JobStore, record: JobRecord, now: number): JobRecord[] => {
  const { line } = record;
  const ahead: JobRecord[] = [];
  if (line.running > 0) {
    for (const each of runnable.running()) {
      // Once put back, it has begun; and so goes first, unless this one began before.
      const isAhead = !isFree(each, now) || !hasBegun(record.row) || each.row.leasedUntil! < record.entry!.at;
      if (each.line === line && isAhead) ahead.push(each);
    }
  }
  const waiting = [...pendingOf(line)]
    .filter((each) => each.at <= now || hasBegun(each.record.row))
    .filter((each) => goesBefore(each, record.entry!))
    .sort((a, b) => (goesBefore(a, b) ? -1 : 1));
  return [...ahead, ...waiting.map((each) => each.record)];
};

/** What holds back a pending job that is due. */
export const findHold = (store: JobStore, record: JobRecord, now: number): Hold | null => {
  const { flow, runnable } = store;
  const { queueType, line } = record;
  const { typeName, queue: index } = queueType;
  const queue = index.name;
  const over = flow.rulesOver(queue, typeName);

  const running = (isIn: (record: JobRecord) => boolean): JobRecord[] => {
    const found: JobRecord[] = [];
    for (const each of runnable.running()) if (isIn(each) && !isFree(each, now)) found.push(each);
    return found;
  };
  const idsOf = (records: readonly JobRecord[]): string[] => records.slice(0, mostIds).map(({ id }) => id);
  const hold = (by: HoldReason, scope: Partial<Hold>, details: Partial<Hold> = {}): Hold => ({
    by,
    queue,
    typeName: null,
    group: null,
    limit: null,
    inUse: null,
    opensAt: null,
    jobIds: [],
    ...scope,
    ...details,
  });

  const byLimits = (
    limits: FlowLimits,
    use: { readonly running: number; readonly tat: number },
    scope: Partial<Hold>,
    isIn: (record: JobRecord) => boolean,
  ): Hold | null => {
    const reached = findReachedLimit(limits, use, now);
    if (reached === "concurrency") {
      const holders = running(isIn);
      if (holders.length >= limits.concurrency!)
        return hold("concurrency", scope, {
          limit: limits.concurrency,
          inUse: holders.length,
          jobIds: idsOf(holders),
        });
    }
    // Slots whose leases have expired come free with the next claim; that leaves the rate.
    if (limits.rate === null || findReachedLimit({ ...limits, concurrency: null }, use, now) === null)
      return null;
    return hold("rate", scope, {
      limit: limits.rate.limit,
      opensAt: nextTokenAt(limits.rate, use.tat, now),
    });
  };
  const byRule = (
    rule: FlowRule | undefined,
    use: { readonly running: number; readonly tat: number },
    scope: Partial<Hold>,
    isIn: (record: JobRecord) => boolean,
  ): Hold | null => {
    if (rule === undefined) return null;
    return rule.paused ? hold("paused", scope) : byLimits(rule, use, scope, isIn);
  };

  const cell = flow.find(queue, typeName);
  const ofQueue = byRule(
    over.queue,
    { running: index.running, tat: flow.find(queue, null)?.state.tat ?? 0 },
    {},
    (each) => each.row.queue === queue,
  );
  if (ofQueue !== null) return ofQueue;
  const ofType = byRule(
    over.type,
    { running: queueType.counts.running, tat: cell?.state.tat ?? 0 },
    { typeName },
    (each) => each.queueType === queueType,
  );
  if (ofType !== null || line.group === null) return ofType;

  const scope = { typeName, group: line.group };
  const state = flow.line(cell, line.group);
  if (state.stoppedBy !== null) return hold("stopped", scope, { jobIds: [state.stoppedBy] });
  if (line.orderedJobs > 0) {
    const ahead = findAhead(store, record, now);
    const [first] = ahead;
    if (first !== undefined) {
      const opensAt =
        first.row.status === "pending" && first.row.scheduledAt > now ? first.row.scheduledAt : null;
      return hold("order", scope, { opensAt, jobIds: idsOf(ahead) });
    }
  }
  const use = { running: line.running, tat: state.tat };
  return byLimits(limitsOf(over, line), use, scope, (each) => each.line === line);
};

/** The pending job of a line that goes first among those that are due. */
export const firstDue = (line: Line, now: number): JobRecord | undefined =>
  (firstOf(line, now) ?? line.pending.head(now))?.record;
