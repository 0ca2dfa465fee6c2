import type { Throttle } from "../../store/contract/limits.ts";
import { createHoldFinder } from "../holds.ts";
import type { JobStore } from "../job-store.ts";

export const explainThrottle = (store: JobStore, jobId: string, now: number): Throttle | null => {
  const record = store.find(jobId);
  if (record === undefined || record.row.status !== "pending" || record.row.scheduledAt > now) return null;
  return store.runnable.usesFlow(record.row.queue) ? createHoldFinder(store, now)(record) : null;
};
