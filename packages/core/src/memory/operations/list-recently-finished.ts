import type { ListRecentlyFinishedCall, RecentlyFinishedJob } from "../../store/contract/diagnostics.ts";
import type { StoreView } from "../store-view.ts";

export const listRecentlyFinished = (
  view: StoreView,
  { from, limit }: ListRecentlyFinishedCall,
): RecentlyFinishedJob[] => {
  const found: RecentlyFinishedJob[] = [];
  for (const { row } of view.jobs()) {
    const finishedAt = row.completedAt ?? row.failedAt;
    if (finishedAt === null || finishedAt < from) continue;
    if (row.status !== "completed" && row.status !== "failed") continue;
    const { queue, typeName, status, createdAt } = row;
    found.push({ queue, typeName, status, createdAt, finishedAt });
  }
  return found.sort((a, b) => b.finishedAt - a.finishedAt).slice(0, limit);
};
