import { runnableFrom } from "../../rules/runnable.ts";
import type { StoreView } from "../store-view.ts";

/** Counts the jobs that would go first at the moment this one falls due, as far as that can be foreseen. */
export const countAhead = (view: StoreView, jobId: string, now: number): number | null => {
  const job = view.find(jobId);
  if (job?.row.status !== "pending") return null;
  const { queue, priority, scheduledAt } = job.row;
  const moment = Math.max(now, scheduledAt);

  let ahead = 0;
  for (const { row, order } of view.active(queue)) {
    const at = runnableFrom(row);
    // A lease that still holds will probably end with its job, not in another claim.
    if (at === undefined || at > (row.status === "running" ? now : moment)) continue;
    const sooner = at < scheduledAt || (at === scheduledAt && order < job.order);
    if (row.priority > priority || (row.priority === priority && sooner)) ahead += 1;
  }
  return ahead;
};
