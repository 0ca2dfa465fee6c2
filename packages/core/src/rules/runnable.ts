import type { MaxAttempts } from "../contracts/state-adapter.ts";
import type { StateJob } from "../model/job.ts";
import { hasAttemptsLeft } from "./attempts.ts";

/**
 * From when on a call with these overrides can claim a job: its scheduled time, or the end of its lease.
 * Undefined when it cannot be claimed as it is. This is the definition; stores with indexes state it in their own terms.
 */
export const runnableFrom = (row: StateJob, maxAttempts?: MaxAttempts): number | undefined => {
  if (row.status === "pending") return row.scheduledAt;
  const canExpire = row.status === "running" && row.leasedUntil !== null;
  return canExpire && hasAttemptsLeft(row, maxAttempts) ? row.leasedUntil : undefined;
};
