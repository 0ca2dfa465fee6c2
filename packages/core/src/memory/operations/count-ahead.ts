import type { StoredJob } from "../job-record.ts";
import type { StoreView } from "../store-view.ts";

/** From when on the job can be claimed; undefined when it cannot, or not before its lease runs out some day. */
const runnableFrom = ({ row }: StoredJob, now: number): number | undefined => {
  if (row.status === "pending") return row.scheduledAt;
  const expired = row.status === "running" && row.leasedUntil !== null && row.leasedUntil <= now;
  return expired && row.attempt < row.maxAttempts ? (row.leasedUntil ?? undefined) : undefined;
};

/** Counts the jobs that would go first at the moment this one falls due, as far as that can be foreseen. */
export const countAhead = (view: StoreView, jobId: string, now: number): number | null => {
  const job = view.find(jobId);
  if (job?.row.status !== "pending") return null;
  const { queue, priority, scheduledAt } = job.row;
  const moment = Math.max(now, scheduledAt);

  let ahead = 0;
  for (const other of view.active(queue)) {
    const at = runnableFrom(other, now);
    if (at === undefined || at > moment) continue;
    const sooner = at < scheduledAt || (at === scheduledAt && other.order < job.order);
    if (other.row.priority > priority || (other.row.priority === priority && sooner)) ahead += 1;
  }
  return ahead;
};
