import type { ClaimScope, MaxAttempts } from "../store/contract/claims.ts";
import { runnableFrom } from "../store/rules/checks.ts";
import { createHeap } from "./heap.ts";
import type { JobRecord, QueueType, RunnableEntry } from "./job-record.ts";
import type { JobStore } from "./job-store.ts";
import { nextClaimableAt } from "./next-in-line.ts";
import { runsBefore } from "./timed-queue.ts";

// Everything that asks which jobs can run, and in which order, asks here.

interface Head {
  readonly queueType: QueueType;
  readonly entry: RunnableEntry;
}

/** How a call looks at the store. */
export interface Search {
  readonly now: number;
  readonly maxAttempts: MaxAttempts | undefined;
  /** Expired leases that are not runnable for this call. They are taken out of the index until it ends. */
  readonly setAside: RunnableEntry[];
}

export const createSearch = (now: number, maxAttempts: MaxAttempts | undefined): Search => ({
  now,
  maxAttempts,
  setAside: [],
});

export const endSearch = ({ setAside, now }: Search): void => {
  for (const entry of setAside) entry.record.queueType.leased.add(entry, now);
};

const isRunnable = ({ record }: RunnableEntry, { maxAttempts }: Pick<Search, "maxAttempts">): boolean =>
  runnableFrom(record.row, maxAttempts) !== undefined;

/** The expired lease that a call can take first. */
export const expiredHead = (queueType: QueueType, search: Search): RunnableEntry | undefined => {
  for (;;) {
    const entry = queueType.leased.head(search.now);
    if (entry === undefined || isRunnable(entry, search)) return entry;
    queueType.leased.take();
    search.setAside.push(entry);
  }
};

const headOf = (queueType: QueueType, search: Search): Head | undefined => {
  const pending = queueType.ungrouped.pending.head(search.now);
  const expired = expiredHead(queueType, search);
  if (pending === undefined) return expired && { queueType, entry: expired };
  return { queueType, entry: expired !== undefined && runsBefore(expired, pending) ? expired : pending };
};

const take = ({ queueType, entry: { record } }: Head): JobRecord => {
  if (record.row.status === "pending") queueType.ungrouped.pending.take();
  else queueType.leased.take();
  return record;
};

/**
 * Gives `use` up to `limit` runnable jobs in the order of claims. It must change each so that it is no longer runnable.
 * For queues without groups and rules.
 */
export const takeRunnable = (
  store: JobStore,
  { queue, typeNames }: ClaimScope,
  limit: number,
  search: Search,
  use: (record: JobRecord) => void,
): void => {
  const heads = createHeap<Head>((a, b) => runsBefore(a.entry, b.entry));
  for (const queueType of store.runnable.queueTypes(queue, typeNames)) {
    const head = headOf(queueType, search);
    if (head !== undefined) heads.push(head);
  }
  for (let taken = 0; taken < limit; taken += 1) {
    const head = heads.pop();
    if (head === undefined) return;
    use(take(head));
    const next = headOf(head.queueType, search);
    if (next !== undefined) heads.push(next);
  }
};

const nextLeaseEnd = ({ leased }: QueueType, maxAttempts: MaxAttempts | undefined): number => {
  let next = Number.POSITIVE_INFINITY;
  for (const entry of leased.entries())
    if (entry.at < next && isRunnable(entry, { maxAttempts })) next = entry.at;
  return next;
};

/** The first moment from `now` on at which one of these has a runnable job; infinity when none is in sight. */
export const nextRunnableAt = (
  store: JobStore,
  scopes: readonly ClaimScope[],
  maxAttempts: MaxAttempts | undefined,
  now: number,
): number => {
  let next = Number.POSITIVE_INFINITY;
  for (const scope of scopes) {
    const { queue, typeNames } = scope;
    if (store.runnable.usesFlow(queue)) {
      next = Math.min(next, nextClaimableAt(store, scope, maxAttempts, now));
      continue;
    }
    for (const queueType of store.runnable.queueTypes(queue, typeNames)) {
      const { pending } = queueType.ungrouped;
      if (pending.head(now) !== undefined) return now;
      next = Math.min(next, pending.nextAt() ?? next, nextLeaseEnd(queueType, maxAttempts));
    }
  }
  return Math.max(now, next);
};
