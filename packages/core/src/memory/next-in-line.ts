import type { ClaimScope, MaxAttempts } from "../store/contract/claims.ts";
import type { LimitValues, LimitRule } from "../store/contract/limits.ts";
import { nextTokenAt, tokensLeft } from "../store/rules/limits.ts";
import { runnableFrom } from "../store/rules/checks.ts";
import type { QueueType, RunnableEntry } from "./job-record.ts";
import type { JobStore } from "./job-store.ts";
import { dueAtOf, type Line } from "./line.ts";
import { limitsOf } from "./line-limits.ts";

const never = Number.POSITIVE_INFINITY;

/** When leases end whose jobs come free then, with their slots. */
const leaseEnds = (entries: Iterable<RunnableEntry>, maxAttempts: MaxAttempts | undefined): number[] => {
  const ends: number[] = [];
  for (const { record, at } of entries)
    if (runnableFrom(record.row, maxAttempts) !== undefined) ends.push(at);
  return ends.sort((a, b) => a - b);
};

/** From when on limits let one more job in, if nothing happens but that leases end. */
const limitsOpenAt = (
  { concurrency, rate }: LimitValues,
  { running, bucketFullAt }: { readonly running: number; readonly bucketFullAt: number },
  ends: () => readonly number[],
  now: number,
): number => {
  const toEnd = concurrency === null ? 0 : running - concurrency + 1;
  const roomAt = toEnd <= 0 ? now : (ends()[toEnd - 1] ?? never);
  const tokenAt =
    rate === null || tokensLeft(rate, bucketFullAt, now) > 0 ? now : nextTokenAt(rate, bucketFullAt, now);
  return Math.max(roomAt, tokenAt);
};

const ruleOpensAt = (
  rule: LimitRule | undefined,
  use: { readonly running: number; readonly bucketFullAt: number },
  ends: () => readonly number[],
  now: number,
): number => {
  if (rule === undefined) return now;
  return rule.paused ? never : limitsOpenAt(rule, use, ends, now);
};

/** The same as `nextRunnableAt`, for one queue with groups or rules. */
export const nextClaimableAt = (
  { flow, runnable }: JobStore,
  { queue, typeNames }: ClaimScope,
  maxAttempts: MaxAttempts | undefined,
  now: number,
): number => {
  const types = runnable.queueTypes(queue, typeNames);
  const leased = (): Iterable<RunnableEntry> => types.flatMap((type) => [...type.leased.entries()]);
  const queueState = flow.find(queue, null)?.state;
  const queueUse = {
    running: runnable.queue(queue)?.running ?? 0,
    bucketFullAt: queueState?.bucketFullAt ?? 0,
  };
  const queueOpensAt = ruleOpensAt(queueState?.rule, queueUse, () => leaseEnds(leased(), maxAttempts), now);
  if (queueOpensAt === never) return never;

  const typeOpensAt = (queueType: QueueType): number => {
    const cell = flow.find(queue, queueType.typeName);
    const over = flow.rulesOver(queue, queueType.typeName);
    const leasedByLine = new Map<Line, RunnableEntry[]>();
    for (const entry of queueType.leased.entries()) {
      const { line } = entry.record;
      const others = leasedByLine.get(line);
      if (others === undefined) leasedByLine.set(line, [entry]);
      else others.push(entry);
    }
    const lineOpens = (line: Line): number => {
      const { bucketFullAt, stoppedBy } = flow.line(cell, line.group);
      if (stoppedBy !== null) return never;
      const lineEnds = leaseEnds(leasedByLine.get(line) ?? [], maxAttempts);
      const dueAt = Math.min(dueAtOf(line, now), lineEnds[0] ?? never);
      const claimableAt = limitsOpenAt(
        limitsOf(over, line),
        { running: line.running, bucketFullAt },
        () => lineEnds,
        now,
      );
      return Math.max(dueAt, claimableAt);
    };
    const use = { running: queueType.counts.running, bucketFullAt: cell?.state.bucketFullAt ?? 0 };
    const typeEnds = (): number[] => leaseEnds(queueType.leased.entries(), maxAttempts);
    const byRule = ruleOpensAt(cell?.state.rule, use, typeEnds, now);
    let first = never;
    for (const line of [queueType.ungrouped, ...queueType.groups.values()]) {
      first = Math.min(first, lineOpens(line));
      if (first <= now) break;
    }
    return Math.max(first, byRule);
  };
  return Math.max(queueOpensAt, Math.min(never, ...types.map(typeOpensAt)));
};
