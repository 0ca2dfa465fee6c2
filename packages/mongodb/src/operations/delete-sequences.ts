import { type DeleteCall, type DeletionResult, referenceTo } from "leasehold/adapter";
import { dropUnusedKeys } from "../deduplication-keys.ts";
import type { StoredJob } from "../job-document.ts";
import type { Store, StoreCall } from "../store.ts";
import type { Work } from "../work.ts";

/** The roots outside the set with a job, finished or not, that was given a sequence of these trees as blocker. */
export const findDependantRoots = async (
  work: Work,
  tree: readonly StoredJob[],
  rootSequenceIds: ReadonlySet<string>,
): Promise<string[]> => {
  const sequenceIds = tree.filter(({ row }) => row.sequenceIndex === 0).map(({ row }) => row.id);
  const dependants = await work.dependants(sequenceIds);
  return [...new Set(dependants.map(({ row }) => row.rootSequenceId))].filter(
    (id) => !rootSequenceIds.has(id),
  );
};

export const removeTree = async (work: Work, tree: readonly StoredJob[]): Promise<void> => {
  await work.remove(tree.map(({ row }) => row.id));
  await dropUnusedKeys(
    work,
    tree.map(({ row }) => row),
  );
};

export const readTrees = (work: Work, rootSequenceIds: readonly string[]): Promise<StoredJob[]> =>
  work.query({ rootSequenceId: { $in: [...rootSequenceIds] } }, { createdAt: 1, position: 1 });

export const deleteSequences = (store: Store, call: StoreCall & DeleteCall): Promise<DeletionResult> =>
  store.work(call, async (work) => {
    const roots = await work.findMany(call.rootSequenceIds);
    const notRoots = [...roots.values()]
      .filter(({ row }) => row.rootSequenceId !== row.id)
      .map(({ row }) => row.id);
    if (notRoots.length > 0) return { deleted: [], notRoots, dependantRootSequenceIds: [] };
    const tree = await readTrees(work, [...roots.keys()]);
    const dependantRootSequenceIds = await findDependantRoots(work, tree, new Set(roots.keys()));
    if (dependantRootSequenceIds.length > 0) return { deleted: [], notRoots: [], dependantRootSequenceIds };
    await removeTree(work, tree);
    const deleted = tree.map(({ row }) => ({ ...referenceTo(row), status: row.status }));
    return { deleted, notRoots: [], dependantRootSequenceIds: [] };
  });
