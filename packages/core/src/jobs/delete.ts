import {
  optionalInteger,
  requireArray,
  requireBoolean,
  requireInteger,
  requireOneOf,
} from "../base/options.ts";
import type { AfterCommit, Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { jobEventData } from "../observability/observe.ts";
import type { DeletionResult, PruneResult, PruneRule } from "../store/contract/creation.ts";
import { actionTypeName } from "../store/contract/job.ts";
import { JobSequenceHasDependantsError, JobSequenceNotRootError } from "../store/errors.ts";
import type { DeleteReport } from "./api/operate.ts";
import { changeChosen, choiceOptions, type ChoiceRules } from "./choose.ts";

const { ids: _ids, ...filterChoice } = choiceOptions;

const deleteOptions = { ...filterChoice, rootSequenceIds: true, onlyFinished: true } as const;

const choice: ChoiceRules = {
  operation: "deleteJobSequences",
  statuses: ["completed", "failed"],
  idsOption: "rootSequenceIds",
  idOf: ({ rootSequenceId }) => rootSequenceId,
};

type TreeResult =
  | { readonly id: string; readonly jobs: number }
  | { readonly id: string; readonly reason: DeleteReport<string>["skipped"][number]["reason"] };

const announceDeleted = (afterCommit: AfterCommit, { deleted }: DeletionResult): void => {
  for (const { status, ...job } of deleted) {
    if (status === "running") afterCommit.notify("jobOwnershipLost", job.id);
    afterCommit.observe("jobDeleted", () => ({ status, ...jobEventData(job) }));
  }
};

const resultsOf = (ids: readonly string[], { deleted }: DeletionResult): TreeResult[] => {
  const jobs = new Map<string, number>();
  for (const { rootSequenceId } of deleted) jobs.set(rootSequenceId, (jobs.get(rootSequenceId) ?? 0) + 1);
  return ids.map((id) => {
    const count = jobs.get(id);
    return count === undefined ? { id, reason: "not_found" } : { id, jobs: count };
  });
};

/** Deletes the named trees, all or none. */
const deleteTrees = async (
  engine: Engine,
  ctx: object | undefined,
  ids: readonly string[],
  afterCommit: AfterCommit,
): Promise<TreeResult[]> => {
  const result = await engine.store.deleteSequences({ ctx, rootSequenceIds: ids });
  if (result.notRoots.length > 0) throw new JobSequenceNotRootError(result.notRoots);
  if (result.dependantRootSequenceIds.length > 0) {
    throw new JobSequenceHasDependantsError(result.dependantRootSequenceIds);
  }
  announceDeleted(afterCommit, result);
  return resultsOf(ids, result);
};

/** Deletes what can be deleted. Trees with dependants are skipped, and with `onlyFinished` those with unfinished jobs. */
const deletePossibleTrees = async (
  engine: Engine,
  ctx: object | undefined,
  ids: readonly string[],
  afterCommit: AfterCommit,
  { onlyFinished }: { readonly onlyFinished: boolean },
): Promise<TreeResult[]> => {
  const results: TreeResult[] = [];
  const finished: string[] = [];
  for (const id of ids) {
    if (!onlyFinished || !(await isUnfinished(engine, ctx, id))) finished.push(id);
    else results.push({ id, reason: "unfinished" });
  }
  const remove = async (roots: readonly string[]): Promise<void> => {
    if (roots.length === 0) return;
    const result = await engine.store.deleteSequences({ ctx, rootSequenceIds: roots });
    if (result.notRoots.length > 0) throw new JobSequenceNotRootError(result.notRoots);
    if (result.dependantRootSequenceIds.length === 0) {
      announceDeleted(afterCommit, result);
      results.push(...resultsOf(roots, result));
    } else if (roots.length === 1) results.push({ id: roots[0]!, reason: "has_dependants" });
    // One tree with dependants keeps the others of the call.
    else for (const root of roots) await remove([root]);
  };
  await remove(finished);
  return results;
};

const isUnfinished = async (
  engine: Engine,
  ctx: object | undefined,
  rootSequenceId: string,
): Promise<boolean> => {
  const filter = { rootSequenceId, statuses: ["blocked", "pending", "running"] as const };
  const { jobs } = await engine.store.listJobs({ ctx, filter, order: "oldest", limit: 1, after: null });
  return jobs.length > 0;
};

/** Deletes whole trees of sequences. The signals of running handlers are aborted. */
export const deleteJobSequences = (engine: Engine, passed: unknown): Promise<DeleteReport<string>> =>
  operation(engine, "deleteJobSequences", passed, { options: deleteOptions }, async (call) => {
    const { filter, onlyFinished: given } = call.options;
    const isOneCall = filter === undefined && given === undefined;
    const onlyFinished = given === undefined || requireBoolean(given, "onlyFinished");
    const { results, cursor } = await changeChosen(
      engine,
      call,
      choice,
      (ctx, ids, afterCommit) =>
        isOneCall
          ? deleteTrees(engine, ctx, ids, afterCommit)
          : deletePossibleTrees(engine, ctx, ids, afterCommit, { onlyFinished }),
      { isOneCall },
    );
    return {
      changed: results.flatMap((result) => ("jobs" in result ? [result] : [])),
      skipped: results.flatMap((result) => ("jobs" in result ? [] : [result])),
      cursor,
    };
  });

const pruneOptions = { olderThanMs: true, statuses: true, batchSize: true } as const;

/** Retention: deletes finished trees older than some time, in small batches, so that other calls do not wait long. */
export const pruneJobs = (engine: Engine, passed: unknown): Promise<{ deletedJobs: number }> =>
  operation(engine, "jobs.prune", passed, { options: pruneOptions }, ({ options }) => prune(engine, options));

const prune = async (engine: Engine, options: Record<string, unknown>): Promise<{ deletedJobs: number }> => {
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
