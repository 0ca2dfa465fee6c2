import { JobSequenceHasDependantsError, JobSequenceNotRootError } from "../errors.ts";
import {
  optionalInteger,
  requireArray,
  requireId,
  requireInteger,
  requireOneOf,
  requirePlainObject,
} from "../model/option-checks.ts";
import type { Engine } from "./engine.ts";
import { runSingleCall, findContext } from "./transaction.ts";

/** Removes whole trees of sequences. Process functions that are running learn of it through their signal. */
export const deleteJobSequences = async (
  engine: Engine,
  passed: unknown,
): Promise<{ deletedJobs: number }> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await findContext(engine, "deleteJobSequences", options, ["rootSequenceIds"]);
  const ids = requireArray(options["rootSequenceIds"], "rootSequenceIds", { maxLength: 100_000 });
  const rootSequenceIds = ids.map((id, index) => requireId(id, `rootSequenceIds[${index}]`));

  return runSingleCall(engine, "deleteJobSequences", ctx, async (effects) => {
    const result = await engine.store.deleteSequences({ ctx, rootSequenceIds });
    if (result.notRoots.length > 0) throw new JobSequenceNotRootError(result.notRoots);
    if (result.dependantRootSequenceIds.length > 0) {
      throw new JobSequenceHasDependantsError(result.dependantRootSequenceIds);
    }
    for (const { id, status } of result.deleted) if (status === "running") effects.ownershipLost(id);
    return { deletedJobs: result.deleted.length };
  });
};

/** Retention: removes finished trees older than some time, in small batches so that nothing else has to wait long. */
export const pruneJobSequences = async (
  engine: Engine,
  passed: unknown,
): Promise<{ deletedJobs: number }> => {
  const options = requirePlainObject(passed, "options");
  await findContext(engine, "pruneJobSequences", options, ["olderThanMs", "statuses", "batchSize"]);
  const olderThanMs = requireInteger(options["olderThanMs"], "olderThanMs", {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  });
  const limit = optionalInteger(options["batchSize"], "batchSize", 1_000, { min: 1, max: 100_000 });
  const given = options["statuses"] === undefined ? ["completed"] : options["statuses"];
  const statuses = requireArray(given, "statuses", { maxLength: 2 }).map((status, index) =>
    requireOneOf(status, `statuses[${index}]`, ["completed", "failed"]),
  );
  const finishedBefore = (await engine.store.getTime()) - olderThanMs;
  let deletedJobs = 0;
  for (;;) {
    const deleted = await engine.store.pruneSequences({ finishedBefore, statuses, limit });
    if (deleted === 0) return { deletedJobs };
    deletedJobs += deleted;
  }
};
