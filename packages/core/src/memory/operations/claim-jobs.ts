import { hasAttemptsLeft } from "../../rules/attempts.ts";
import { assertLeaseDuration } from "../../rules/lease-checks.ts";
import type { ClaimRequest, MaxAttempts } from "../../contracts/state-adapter.ts";
import type { StateJob } from "../../model/job.ts";
import { createHeap } from "../heap.ts";
import type { JobRecord, Lane, RunnableEntry } from "../job-record.ts";
import type { JobStore } from "../job-store.ts";
import { runsBefore } from "../timed-queue.ts";
import { claimed } from "../../rules/transitions.ts";

export interface ClaimCall {
  readonly workerId: string;
  readonly leaseToken: string;
  readonly leaseMs: number;
  readonly requests: readonly ClaimRequest[];
  readonly limit: number;
  readonly isRepeat?: boolean;
  readonly maxAttempts?: MaxAttempts | undefined;
}

interface Head {
  readonly lane: Lane;
  readonly entry: RunnableEntry;
}

/** By what a call says of `maxAttempts`, some leases that have run out are not for it. They are taken out meanwhile. */
interface Search {
  readonly now: number;
  readonly maxAttempts: MaxAttempts | undefined;
  readonly setAside: RunnableEntry[];
}

const expiredHead = (lane: Lane, { now, maxAttempts, setAside }: Search): RunnableEntry | undefined => {
  for (;;) {
    const entry = lane.leased.head(now);
    if (entry === undefined || hasAttemptsLeft(entry.record.row, maxAttempts)) return entry;
    lane.leased.take();
    setAside.push(entry);
  }
};

const headOf = (lane: Lane, search: Search): Head | undefined => {
  const pending = lane.pending.head(search.now);
  const expired = expiredHead(lane, search);
  if (pending === undefined) return expired && { lane, entry: expired };
  return { lane, entry: expired !== undefined && runsBefore(expired, pending) ? expired : pending };
};

const take = ({ lane, entry: { record } }: Head): JobRecord => {
  if (record.row.status === "pending") lane.pending.take();
  else lane.leased.take();
  return record;
};

/** Merges the lanes of a request: `use` gets the runnable jobs in order, and must change each so that it no longer is. */
const takeRunnable = (
  store: JobStore,
  { queue, typeNames }: ClaimRequest,
  limit: number,
  search: Search,
  use: (record: JobRecord) => void,
): void => {
  const heads = createHeap<Head>((a, b) => runsBefore(a.entry, b.entry));
  for (const lane of store.runnable.lanes(queue, typeNames)) {
    const head = headOf(lane, search);
    if (head !== undefined) heads.push(head);
  }
  for (let taken = 0; taken < limit; taken += 1) {
    const head = heads.pop();
    if (head === undefined) return;
    use(take(head));
    const next = headOf(head.lane, search);
    if (next !== undefined) heads.push(next);
  }
};

const covers = ({ queue, typeNames }: ClaimRequest, row: StateJob): boolean =>
  queue === row.queue && (typeNames === null || typeNames.includes(row.typeName));

/** The jobs that an earlier call with this token took; a lease that has run out since is no longer held. */
const findHeld = (store: JobStore, leaseToken: string, now: number): StateJob[] => {
  const held: JobRecord[] = [];
  for (const record of store.runnable.running()) {
    if (record.row.leaseToken === leaseToken && (record.row.leasedUntil ?? 0) > now) held.push(record);
  }
  return held.sort((a, b) => b.row.priority - a.row.priority || a.order - b.order).map(({ row }) => row);
};

export const claimJobs = (store: JobStore, call: ClaimCall, now: number): StateJob[] => {
  assertLeaseDuration(call.leaseMs);
  const { requests } = call;
  const jobs = call.isRepeat === true ? findHeld(store, call.leaseToken, now) : [];
  const free = requests.map(({ limit }) => limit);
  for (const row of jobs) {
    const index = requests.findIndex(
      (request, position) => covers(request, row) && (free[position] ?? 0) > 0,
    );
    if (index >= 0) free[index] = (free[index] ?? 0) - 1;
  }

  const search: Search = { now, maxAttempts: call.maxAttempts, setAside: [] };
  for (const [index, request] of requests.entries()) {
    const limit = Math.min(free[index] ?? 0, call.limit - jobs.length);
    takeRunnable(store, request, limit, search, (record) => {
      store.update(record, claimed(record.row, call, now));
      jobs.push(record.row);
    });
  }
  putBack(search);
  return jobs;
};

const putBack = ({ setAside, now }: Search): void => {
  for (const entry of setAside) entry.record.lane.leased.add(entry, now);
};

const nextLeaseEnd = (lane: Lane, maxAttempts: MaxAttempts | undefined): number => {
  let next = Number.POSITIVE_INFINITY;
  for (const { at, record } of lane.leased.entries())
    if (at < next && hasAttemptsLeft(record.row, maxAttempts)) next = at;
  return next;
};

export const nextRunnableIn = (
  store: JobStore,
  {
    requests,
    maxAttempts,
  }: {
    readonly requests: readonly Omit<ClaimRequest, "limit">[];
    readonly maxAttempts?: MaxAttempts | undefined;
  },
  now: number,
): number | null => {
  let next = Number.POSITIVE_INFINITY;
  for (const { queue, typeNames } of requests) {
    for (const lane of store.runnable.lanes(queue, typeNames)) {
      if (lane.pending.head(now) !== undefined) return 0;
      next = Math.min(next, lane.pending.nextAt() ?? next, nextLeaseEnd(lane, maxAttempts));
    }
  }
  return next === Number.POSITIVE_INFINITY ? null : Math.max(0, next - now);
};
