import { requireBoolean, requireName } from "../base/options.ts";
import { toStoredErrorText } from "../base/stored-error.ts";
import type { AfterCommit, Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { jobEventData } from "../observability/observe.ts";
import type { CancelResult } from "../store/contract/outcomes.ts";
import { announceCascade, announceFailure } from "./announce.ts";
import type { CancelReport } from "./api/operate.ts";
import { findChildren } from "./children.ts";
import { changeChosen, choiceOptions, type ChoiceRules } from "./choose.ts";

const choice: ChoiceRules = {
  operation: "jobs.cancel",
  statuses: ["blocked", "pending", "running"],
  idOf: ({ sequenceId }) => sequenceId,
};

const cancelOptions = { ...choiceOptions, reason: true, withChildren: true } as const;

/**
 * Ends sequences at once. A running job loses its lease in the same transaction, so no result of it is recorded. A
 * notification or the next renewal of the lease aborts the signal of its handler.
 *
 * With `withChildren`, the children are read after the sequences have been cancelled. A transaction of a handler that starts
 * children has then either committed, and they are found, or it cannot commit any more.
 */
export const cancelJobs = (engine: Engine, passed: unknown): Promise<CancelReport<string>> =>
  operation(engine, "jobs.cancel", passed, { options: cancelOptions }, async (call) => {
    const { reason: given, withChildren } = call.options;
    const reason =
      given === undefined ? "The job was cancelled." : requireName(given, "reason", { maxLength: 2_000 });
    const takesChildren = withChildren !== undefined && requireBoolean(withChildren, "withChildren");
    const { results, cursor } = await changeChosen(
      engine,
      call,
      choice,
      (ctx, ids, afterCommit) => cancelInTransaction(engine, ctx, afterCommit, ids, reason),
      takesChildren ? { findMore: (ctx, ids) => findChildren(engine, ctx, ids) } : {},
    );
    return { ...summarise(results), cursor };
  });

/** A sequence that was chosen and is also the child of another one appears once. */
const summarise = (results: readonly CancelResult[]): Omit<CancelReport<string>, "cursor"> => {
  const changed = new Map<string, CancelReport<string>["changed"][number]>();
  const skipped: CancelReport<string>["skipped"][number][] = [];
  for (const { sequenceId: id, kind, cascaded } of results) {
    const failedIds = cascaded.map((job) => job.id);
    if (kind === "cancelled") changed.set(id, { id, failedIds });
    else skipped.push({ id, reason: kind });
  }
  return { changed: [...changed.values()], skipped };
};

/** Cancels in the caller's transaction, or without one. `afterCommit` gets the notifications and events. */
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
