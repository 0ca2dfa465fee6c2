import { runnableFrom } from "../../store/rules/checks.ts";
import type { CountAheadCall } from "../../store/contract/claims.ts";
import type { StoredJob } from "../job-record.ts";
import { hasBegun } from "../line.ts";
import type { StoreView } from "../store-view.ts";

/** Counts the jobs that would go first at the moment this one falls due, as far as that can be foreseen. */
export const countAhead = (view: StoreView, { jobId, cap }: CountAheadCall, now: number): number | null => {
  const job = view.find(jobId);
  if (job?.row.status !== "pending") return null;
  const { queue, typeName, group, scheduledAt } = job.row;
  const moment = Math.max(now, scheduledAt);
  const isBegun = hasBegun(job.row);

  const rankOf = ({ row }: StoredJob): number => (hasBegun(row) ? 0 : row.priority);
  const rank = rankOf(job);

  let ahead = 0;
  for (const other of view.active(queue)) {
    if (ahead === cap) break;
    const { row, order } = other;
    if (row.group !== group || (group !== null && row.typeName !== typeName)) continue;
    const at = runnableFrom(row);
    // A lease that still holds will probably end with its job, not in another claim.
    if (at === undefined || (row.status === "running" && at > now)) continue;
    const begun = hasBegun(row);
    // The line waits for a job that has begun, due or not.
    if (!begun && at > moment) continue;
    const sooner = at < scheduledAt || (at === scheduledAt && order < job.order);
    const otherRank = rankOf(other);
    if (begun === isBegun ? otherRank > rank || (otherRank === rank && sooner) : begun) ahead += 1;
  }
  return ahead;
};
