import type { ListRecentlyFinishedCall, RecentlyFinishedJob } from "leasehold/adapter";
import { inSession } from "../collections.ts";
import type { JobDocument } from "../job-document.ts";
import type { Store, StoreCall } from "../store.ts";

/**
 * No index has the time at which jobs finished: every job would pay for it. But jobs run more or less in the order in which they
 * were created, so those that finished last are among the last created ones of those that have finished.
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
