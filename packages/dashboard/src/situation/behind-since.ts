import type { AnyLeasehold } from "../server/services.ts";

const minuteMs = 60_000;
/** How far back it is worth looking. */
const rangeMs = 6 * 60 * minuteMs;
/** The answer changes little, and reading hours of statistics is work for the store. */
const keptMs = minuteMs;

/** A queue whose jobs wait too long. */
export interface BehindQueue {
  readonly queue: string;
  /** Since when the job that has waited longest could have been running. */
  readonly oldestAt: number;
  /** From when on a job has waited too long. */
  readonly lateMs: number;
}

export type FindBehindSince = (behind: BehindQueue, now: number) => Promise<number>;

/**
 * Since when jobs of a queue have been starting late. A queue that is always ten minutes behind has no job that waits longer, so
 * its oldest job does not tell: the statistics of the last hours do, minute by minute, as far as they go without a gap.
 */
export const createBehindSince = (leasehold: AnyLeasehold): FindBehindSince => {
  const known = new Map<string, { readonly at: number; readonly since: number }>();

  const read = async ({ queue, oldestAt, lateMs }: BehindQueue, now: number): Promise<number> => {
    const minutes = await leasehold.getStatistics({
      from: new Date(now - rangeMs),
      before: new Date(now),
      queue,
      everyMs: minuteMs,
      byType: false,
    });
    let since = oldestAt + lateMs;
    for (const { from, estimated } of minutes.toSorted((a, b) => b.from.getTime() - a.from.getTime())) {
      // Nothing started in this minute.
      if (estimated.timeToStartMs === null) continue;
      if (estimated.timeToStartMs.p50 < lateMs) break;
      since = Math.min(since, from.getTime());
    }
    return since;
  };

  return async (behind, now) => {
    for (const [queue, { at }] of known) if (now - at > keptMs) known.delete(queue);
    const found = known.get(behind.queue) ?? { at: now, since: await read(behind, now) };
    known.set(behind.queue, found);
    return found.since;
  };
};
