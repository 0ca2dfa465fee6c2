import {
  type BacklogKind,
  createBacklogCounts,
  type ListRecentlyFinishedCall,
  type MeasureBacklogCall,
  queueTypeKey,
  type RecentlyFinishedJob,
  type TypeBacklog,
} from "leasehold/adapter";
import type { Document } from "mongodb";
import { inSession } from "../database/collections.ts";
import type { Store, StoreCall } from "../database/database.ts";
import type { JobDocument } from "../database/job-document.ts";

/**
 * No index has the time at which jobs finished: every job would pay for it. But jobs run more or less in the order in which they
 * were created, so the jobs that finished last are among the last created ones that have finished.
 */
export const listRecentlyFinished = async (
  { collections: { jobs } }: Store,
  { session, from, limit }: StoreCall & ListRecentlyFinishedCall,
): Promise<RecentlyFinishedJob[]> => {
  const newest = (status: RecentlyFinishedJob["status"]) =>
    jobs
      .find<Pick<JobDocument, "queue" | "typeName" | "createdAt" | "finishedAt">>(
        { status },
        {
          ...inSession(session),
          sort: { createdAt: -1, _id: -1 },
          limit,
          projection: { queue: 1, typeName: 1, createdAt: 1, finishedAt: 1 },
        },
      )
      .map(({ queue, typeName, createdAt, finishedAt }) => ({
        queue,
        typeName,
        status,
        createdAt: createdAt.getTime(),
        finishedAt: finishedAt?.getTime() ?? 0,
      }))
      .toArray();
  const found = [...(await newest("completed")), ...(await newest("failed"))];
  return found
    .filter(({ finishedAt }) => finishedAt >= from)
    .sort((a, b) => b.finishedAt - a.finishedAt)
    .slice(0, limit);
};

export interface QueueType {
  readonly queue: string;
  readonly typeName: string;
}

/** The queues and types that have such jobs. The indexes that begin with both skip from one value to the next. */
const findQueueTypes = async (
  { collections: { jobs } }: Store,
  { session }: StoreCall,
  filter: { readonly live: true } | { readonly status: "blocked" },
): Promise<QueueType[]> => {
  const options = inSession(session);
  const found: QueueType[] = [];
  for (const queue of await jobs.distinct("queue", filter, options)) {
    const typeNames = await jobs.distinct("typeName", { ...filter, queue }, options);
    found.push(...typeNames.map((typeName) => ({ queue, typeName })));
  }
  return found;
};

// Of running and failed jobs no index begins with queue and type. This many times the cap are looked at, of all types.
const mostCaps = 10;

export const measureBacklog = async (
  store: Store,
  call: StoreCall & MeasureBacklogCall,
): Promise<TypeBacklog[]> => {
  const { jobs } = store.collections;
  const options = inSession(call.session);
  const { cap } = call;
  const now = new Date(call.now ?? (await store.clock.ask()));
  const counts = createBacklogCounts(cap);

  const countPending = async (queueType: QueueType): Promise<void> => {
    const pending = { ...queueType, live: true, status: "pending" } as const;
    // Only types with jobs past `expireAfterMs` pay for reading more than the index.
    const inTime = late.has(queueTypeKey(queueType)) ? { $nor: [overdue] } : {};
    const due = { ...pending, dueAt: { $lte: now }, ...inTime };
    const oldest = await jobs.findOne(due, { ...options, sort: { dueAt: 1 }, projection: { dueAt: 1 } });
    if (oldest?.dueAt instanceof Date) {
      counts.of(queueType).oldestRunnableAt = oldest.dueAt.getTime();
      counts.add(queueType, "runnable", await jobs.countDocuments(due, { ...options, limit: cap }));
    }
    const later = { ...pending, dueAt: { $gt: now } };
    counts.add(queueType, "later", await jobs.countDocuments(later, { ...options, limit: cap }));
  };

  const addSome = async (kind: BacklogKind, filter: Document, sort: Document): Promise<QueueType[]> => {
    const found = await jobs
      .aggregate<{ _id: QueueType; count: number }>(
        [
          { $match: filter },
          { $sort: sort },
          { $limit: cap * mostCaps },
          { $group: { _id: { queue: "$queue", typeName: "$typeName" }, count: { $sum: 1 } } },
        ],
        options,
      )
      .toArray();
    for (const { _id, count } of found) counts.add(_id, kind, count);
    return found.map(({ _id }) => _id);
  };

  const overdue = { expiresAt: { $gt: new Date(0), $lte: now } };
  const late = new Set((await addSome("overdue", overdue, { expiresAt: 1 })).map(queueTypeKey));
  for (const queueType of await findQueueTypes(store, call, { live: true })) await countPending(queueType);
  for (const queueType of await findQueueTypes(store, call, { status: "blocked" })) {
    const count = await jobs.countDocuments({ ...queueType, status: "blocked" }, { ...options, limit: cap });
    counts.add(queueType, "blocked", count);
  }
  await addSome("running", { status: "running" }, { dueAt: 1 });
  await addSome("expired", { status: "running", dueAt: { $lte: now } }, { dueAt: 1 });
  await addSome("failed", { status: "failed" }, { createdAt: -1, _id: -1 });
  return counts.all();
};
