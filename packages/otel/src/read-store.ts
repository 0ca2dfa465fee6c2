import type { AnyStateAdapter, JobCount, StateJob } from "leasehold/adapter";

/** What the store says of its jobs at one moment. */
export interface StoreReading {
  /** Jobs that have not completed. */
  readonly jobs: readonly JobCount[];
  /** How long the job that has waited longest could have been running, by queue; queues where that is unknown are absent. */
  readonly oldestRunnableAgeMs: ReadonlyMap<string, number>;
  /** Running jobs whose lease is over and that nobody has taken back yet, by queue. */
  readonly expiredLeases: ReadonlyMap<string, number>;
}

const pageSize = 100;

/** Up to `limit` jobs, oldest first, until `visit` has seen enough. Answers whether it saw all it needed. */
const scan = async (
  store: AnyStateAdapter,
  filter: Parameters<AnyStateAdapter["listJobs"]>[0]["filter"],
  limit: number,
  visit: (job: StateJob) => "go on" | "enough",
): Promise<boolean> => {
  let after = null;
  for (let seen = 0; seen < limit;) {
    const page = await store.listJobs({
      filter,
      order: "oldest",
      limit: Math.min(pageSize, limit - seen),
      after,
    });
    for (const job of page.jobs) if (visit(job) === "enough") return true;
    seen += page.jobs.length;
    after = page.next;
    if (!after) return true;
  }
  return false;
};

/**
 * Jobs are listed by creation, so the search goes on until those that follow were created after the best one found had
 * come due: a retry that is due again may stand before a younger job that has waited longer.
 */
const findOldestRunnable = async (
  store: AnyStateAdapter,
  queue: string,
  now: number,
  limit: number,
): Promise<number | undefined> => {
  let earliest = Infinity;
  const complete = await scan(store, { statuses: ["pending"], queues: [queue] }, limit, (job) => {
    if (job.createdAt > Math.min(earliest, now)) return "enough";
    earliest = Math.min(earliest, job.scheduledAt);
    return "go on";
  });
  if (earliest <= now) return now - earliest;
  // Unknown, not zero: there may be a runnable job behind all those that are scheduled for later.
  return complete ? 0 : undefined;
};

const countExpiredLeases = async (
  store: AnyStateAdapter,
  now: number,
  limit: number,
): Promise<Map<string, number>> => {
  const expired = new Map<string, number>();
  await scan(store, { statuses: ["running"] }, limit, ({ queue, leasedUntil }) => {
    if (leasedUntil !== null && leasedUntil <= now) expired.set(queue, (expired.get(queue) ?? 0) + 1);
    return "go on";
  });
  return expired;
};

/** Completed jobs are not counted: they are most of the table, and no backlog. */
export const readStore = async (store: AnyStateAdapter, scanLimit: number): Promise<StoreReading> => {
  const now = await store.getTime();
  const jobs = await store.countJobs({ filter: { statuses: ["blocked", "pending", "running", "failed"] } });
  const oldestRunnableAgeMs = new Map<string, number>();
  for (const queue of new Set(jobs.map(({ queue }) => queue))) {
    const hasPending = jobs.some((row) => row.queue === queue && row.status === "pending");
    const age = hasPending ? await findOldestRunnable(store, queue, now, scanLimit) : 0;
    if (age !== undefined) oldestRunnableAgeMs.set(queue, age);
  }
  const hasRunning = jobs.some(({ status }) => status === "running");
  const expiredLeases = hasRunning
    ? await countExpiredLeases(store, now, scanLimit)
    : new Map<string, number>();
  return { jobs, oldestRunnableAgeMs, expiredLeases };
};
