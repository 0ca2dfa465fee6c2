import type { TypeBacklog, RecentlyFinishedJob } from "../../contracts/state-adapter.ts";
import type { StoreView } from "../store-view.ts";

type Counting = { -readonly [Key in keyof TypeBacklog]: TypeBacklog[Key] };

/** Goes through all jobs: they are in memory, and nothing is read for it. */
export const measureBacklog = (view: StoreView, cap: number, now: number): TypeBacklog[] => {
  const lanes = new Map<string, Counting>();
  const laneOf = (queue: string, typeName: string): Counting => {
    const key = `${queue.length} ${queue}${typeName}`;
    let lane = lanes.get(key);
    if (lane === undefined) {
      const none = { runnable: 0, later: 0, running: 0, expired: 0, blocked: 0, failed: 0 };
      lane = { queue, typeName, ...none, oldestRunnableAt: null };
      lanes.set(key, lane);
    }
    return lane;
  };
  for (const { row } of view.jobs()) {
    if (row.status === "completed") continue;
    const lane = laneOf(row.queue, row.typeName);
    const add = (kind: "runnable" | "later" | "running" | "expired" | "blocked" | "failed"): void => {
      if (lane[kind] < cap) lane[kind] += 1;
    };
    if (row.status !== "pending") add(row.status);
    else if (row.scheduledAt > now) add("later");
    else {
      add("runnable");
      lane.oldestRunnableAt = Math.min(lane.oldestRunnableAt ?? row.scheduledAt, row.scheduledAt);
    }
    if (row.status === "running" && row.leasedUntil !== null && row.leasedUntil <= now) add("expired");
  }
  return [...lanes.values()];
};

export const listRecentlyFinished = (
  view: StoreView,
  { from, limit }: { readonly from: number; readonly limit: number },
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
