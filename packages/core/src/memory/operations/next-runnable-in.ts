import type { NextRunnableCall } from "../../store/contract/claims.ts";
import type { JobStore } from "../job-store.ts";
import { nextRunnableAt } from "../runnable.ts";

export const nextRunnableIn = (
  store: JobStore,
  { requests, maxAttempts }: NextRunnableCall,
  now: number,
): number | null => {
  const at = nextRunnableAt(store, requests, maxAttempts, now);
  return at === Number.POSITIVE_INFINITY ? null : at - now;
};
