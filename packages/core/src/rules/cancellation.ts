import type { CancelResult } from "../contracts/state-adapter.ts";
import type { StateJob } from "../model/job.ts";

/** Why cancelling a sequence changes nothing, by its current job; undefined when the job is to be cancelled. */
export const judgeCancellation = (
  sequenceId: string,
  job: StateJob | undefined,
): CancelResult | undefined => {
  const kind = kindUnchanged(job);
  return kind && { sequenceId, kind, job: job ?? null, changed: false, wasRunning: false, cascaded: [] };
};

const kindUnchanged = (job: StateJob | undefined): CancelResult["kind"] | undefined => {
  if (job === undefined) return "not_found";
  if (job.status === "completed") return "already_completed";
  if (job.status !== "failed") return undefined;
  return job.failureReason === "cancelled" ? "cancelled" : "already_failed";
};
