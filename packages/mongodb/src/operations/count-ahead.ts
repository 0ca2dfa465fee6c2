import type { CountAheadCall } from "leasehold/adapter";
import { inSession } from "../collections.ts";
import { canBeClaimed } from "../runnable.ts";
import type { Store, StoreCall } from "../store.ts";

/** Counts the jobs that would go first at the moment this one falls due, as far as that can be foreseen. */
export const countAhead = async (store: Store, call: StoreCall & CountAheadCall): Promise<number | null> => {
  const { jobs } = store.collections;
  const options = inSession(call.session);
  const now = call.now ?? (await store.clock.ask());
  const job = await jobs.findOne({ _id: call.jobId }, options);
  if (job === null || job.status !== "pending") return null;
  const { queue, priority, scheduledAt, position } = job;
  const moment = new Date(Math.max(now, scheduledAt.getTime()));
  return jobs.countDocuments(
    {
      queue: { $eq: queue },
      live: true,
      $and: [
        // A lease that still holds will probably end with its job, not in another claim.
        {
          $or: [
            { status: "pending", dueAt: { $lte: moment } },
            { status: "running", dueAt: { $lte: new Date(now) } },
          ],
        },
        {
          $or: [
            { priority: { $gt: priority } },
            { priority, dueAt: { $lt: scheduledAt } },
            { priority, dueAt: scheduledAt, position: { $lt: position } },
          ],
        },
      ],
      $expr: canBeClaimed(undefined),
    },
    { ...options, limit: call.cap },
  );
};
