import {
  optionalInteger,
  requireArray,
  requireId,
  requireInteger,
  requireOneOf,
  requirePlainObject,
} from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { announceAfter, resolveTransaction } from "../engine/operation.ts";
import { jobEventData } from "../observability/observe.ts";
import type { PruneResult, PruneRule } from "../store/contract/creation.ts";
import { actionTypeName } from "../store/contract/job.ts";
import { JobSequenceHasDependantsError, JobSequenceNotRootError } from "../store/errors.ts";

/** Deletes whole trees of sequences. Running handlers learn of it through their signal. */
export const deleteJobSequences = async (
  engine: Engine,
  passed: unknown,
): Promise<{ deletedJobs: number }> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "deleteJobSequences", options, { rootSequenceIds: true });
  const ids = requireArray(options["rootSequenceIds"], "rootSequenceIds", { maxLength: 100_000 });
  const rootSequenceIds = ids.map((id, index) => requireId(id, `rootSequenceIds[${index}]`));

  return announceAfter(engine, "deleteJobSequences", ctx, async (afterCommit) => {
    const result = await engine.store.deleteSequences({ ctx, rootSequenceIds });
    if (result.notRoots.length > 0) throw new JobSequenceNotRootError(result.notRoots);
    if (result.dependantRootSequenceIds.length > 0) {
      throw new JobSequenceHasDependantsError(result.dependantRootSequenceIds);
    }
    for (const { status, ...job } of result.deleted) {
      if (status === "running") afterCommit.notify("jobOwnershipLost", job.id);
      afterCommit.observe("jobDeleted", () => ({ status, ...jobEventData(job) }));
    }
    return { deletedJobs: result.deleted.length };
  });
};

/** Retention: removes finished trees older than some time, in small batches so that nothing else has to wait long. */
export const pruneJobs = async (engine: Engine, passed: unknown): Promise<{ deletedJobs: number }> => {
  const options = requirePlainObject(passed, "options");
  const known = { olderThanMs: true, statuses: true, batchSize: true } as const;
  await resolveTransaction(engine, "jobs.prune", options, known);
  const olderThanMs = requireInteger(options["olderThanMs"], "olderThanMs", {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  });
  const limit = optionalInteger(options["batchSize"], "batchSize", 2_000, { min: 1, max: 100_000 });
  const given = options["statuses"] === undefined ? ["completed"] : options["statuses"];
  const statuses = new Set(
    requireArray(given, "statuses", { maxLength: 2 }).map((status, index) =>
      requireOneOf(status, `statuses[${index}]`, ["completed", "failed"]),
    ),
  );
  const finishedBefore = (await engine.store.getTime()) - olderThanMs;
  const rules: readonly PruneRule[] = [
    { sequenceTypeNames: [actionTypeName], completedBefore: null, failedBefore: null },
    {
      sequenceTypeNames: null,
      completedBefore: statuses.has("completed") ? finishedBefore : null,
      failedBefore: statuses.has("failed") ? finishedBefore : null,
    },
  ];
  let deletedJobs = 0;
  // A tree that another one waited for can go once that one has, which may be later in the same pass.
  for (let before = -1; before !== deletedJobs;) {
    before = deletedJobs;
    deletedJobs += await prunePass(engine, rules, limit);
  }
  return { deletedJobs };
};

/** Completed jobs go in great numbers and silently; a failed one less is a change that a count of them must follow. */
export const announcePruned = ({ observe }: Engine, result: PruneResult | null): void => {
  for (const job of result?.failedJobs ?? [])
    observe("jobDeleted", () => ({ status: "failed", ...jobEventData(job) }));
};

const prunePass = async (engine: Engine, rules: readonly PruneRule[], limit: number): Promise<number> => {
  let deletedJobs = 0;
  let after: string | null = null;
  do {
    const result: PruneResult | null = await engine.store.pruneSequences({ rules, limit, after });
    announcePruned(engine, result);
    deletedJobs += result?.deletedJobs ?? 0;
    after = result?.next ?? null;
  } while (after !== null);
  return deletedJobs;
};
