import { requireArray, requireId, requireName, requirePlainObject } from "../base/options.ts";
import { toStoredErrorText } from "../base/stored-error.ts";
import type { AfterCommit, Engine } from "../engine/engine.ts";
import { announceAfter, resolveTransaction } from "../engine/operation.ts";
import { jobEventData } from "../observability/observe.ts";
import type { CancelResult } from "../store/contract/outcomes.ts";
import { announceCascade, announceFailure } from "./announce.ts";
import type { CancelledJobSequence } from "./api/operate.ts";

/**
 * Ends sequences at once. A running job loses its lease in the same moment, so nothing that it still does is recorded. Its
 * handler learns of it through its signal, by a notification or at the next renewal of the lease.
 */
export const cancelJobs = async (
  engine: Engine,
  passed: unknown,
): Promise<CancelledJobSequence<string>[]> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "jobs.cancel", options, { ids: true, reason: true });
  const ids = requireArray(options["ids"], "ids", { maxLength: 10_000 });
  const sequenceIds = ids.map((id, index) => requireId(id, `ids[${index}]`));
  const reason =
    options["reason"] === undefined
      ? "The job was cancelled."
      : requireName(options["reason"], "reason", { maxLength: 2_000 });

  return announceAfter(engine, "jobs.cancel", ctx, async (afterCommit) => {
    const results = await cancelInTransaction(engine, ctx, afterCommit, sequenceIds, reason);
    return results.map(({ sequenceId, kind }) => ({ id: sequenceId, outcome: kind }));
  });
};

/** Cancels in the caller's transaction, or without one, and leaves to `afterCommit` what others should hear. */
export const cancelInTransaction = async (
  engine: Engine,
  ctx: object | undefined,
  afterCommit: AfterCommit,
  sequenceIds: readonly string[],
  reason: string,
): Promise<CancelResult[]> => {
  const error = toStoredErrorText(new JobCancelled(reason));
  const results = await engine.store.cancelSequences({ ctx, sequenceIds, error });
  for (const { job, changed, wasRunning, cascaded } of results) {
    if (!changed || !job) continue;
    if (wasRunning) afterCommit.notify("jobOwnershipLost", job.id);
    afterCommit.observe("jobCancelled", () => jobEventData(job));
    announceFailure(afterCommit, job, "cancelled", error);
    announceCascade(afterCommit, job, cascaded);
  }
  return results;
};

class JobCancelled extends Error {
  override readonly name = "JobCancelled";
}
