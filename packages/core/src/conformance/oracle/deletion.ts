import type { DeletionResult } from "../../store/contract/creation.ts";
import { liftStop } from "./limit-groups.ts";
import { allJobs, currentJob, dependantsOf, type ModelJob, type ModelStore, referenceOf } from "./store.ts";

const treeOf = (store: ModelStore, rootSequenceId: string): ModelJob[] =>
  allJobs(store).filter((job) => job.rootSequenceId === rootSequenceId);

const dependantRootsOf = (store: ModelStore, tree: readonly ModelJob[]): string[] =>
  tree.flatMap(({ sequenceId }) =>
    dependantsOf(store, sequenceId).map(({ rootSequenceId }) => rootSequenceId),
  );

export const remove = (store: ModelStore, jobs: readonly ModelJob[]): void => {
  for (const { id } of jobs) {
    store.jobs.delete(id);
    store.blockers.delete(id);
    store.attempts.delete(id);
    store.fingerprints.delete(id);
  }
};

export const deleteTrees = (store: ModelStore, ids: readonly string[]): DeletionResult => {
  const given = new Set(ids.filter((id) => store.jobs.has(id)));
  const notRoots = [...given].filter((id) => store.jobs.get(id)?.rootSequenceId !== id);
  if (notRoots.length > 0) return { deleted: [], notRoots, dependantRootSequenceIds: [] };
  const jobs = [...given].flatMap((id) => treeOf(store, id));
  const outside = new Set(dependantRootsOf(store, jobs).filter((root) => !given.has(root)));
  if (outside.size > 0) return { deleted: [], notRoots: [], dependantRootSequenceIds: [...outside] };
  remove(store, jobs);
  for (const job of jobs) liftStop(store, job);
  const deleted = jobs.map((job) => ({ ...referenceOf(job), status: job.status }));
  return { deleted, notRoots: [], dependantRootSequenceIds: [] };
};

/** Prunes until nothing more can be: in which order trees go is then of no account. */
export const pruneAll = (
  store: ModelStore,
  finishedBefore: number,
  statuses: readonly ("completed" | "failed")[],
): { readonly deleted: number; readonly failed: number } => {
  const isPrunable = (tree: readonly ModelJob[]): boolean =>
    tree.every(({ sequenceId }) => {
      const current = currentJob(store, sequenceId);
      const finishedAt = current?.completedAt ?? current?.failedAt ?? Number.POSITIVE_INFINITY;
      return finishedAt < finishedBefore && statuses.some((status) => status === current?.status);
    });
  let [deleted, failed] = [0, 0];
  for (;;) {
    const roots = allJobs(store).filter(({ id, rootSequenceId }) => id === rootSequenceId);
    const tree = roots
      .map(({ id }) => treeOf(store, id))
      .find(
        (jobs) =>
          isPrunable(jobs) && dependantRootsOf(store, jobs).every((root) => root === jobs[0]!.rootSequenceId),
      );
    if (tree === undefined) return { deleted, failed };
    remove(store, tree);
    deleted += tree.length;
    failed += tree.filter(({ status }) => status === "failed").length;
  }
};
