import {
  isJobPastRetention,
  type PruneBounds,
  type PruneCall,
  type PruneResult,
  readPruneRules,
  referenceTo,
  type StateJob,
} from "leasehold/adapter";
import { inSession } from "../collections.ts";
import { fromDocument, type StoredJob } from "../job-document.ts";
import type { Store, StoreCall } from "../store.ts";
import { isConflict } from "../transient-errors.ts";
import type { Work } from "../work.ts";
import { findDependantRoots, readTrees, removeTree } from "./delete-sequences.ts";
import { takeTurn } from "./prune-turn.ts";

const rootsAtATime = 200;

const isPrunable = (tree: readonly StoredJob[], bounds: PruneBounds): boolean =>
  tree.every(({ row }) => isJobPastRetention(bounds, row));

/** The jobs that went with the tree; none when it stays. */
const pruneTree = async (work: Work, rootId: string, bounds: PruneBounds): Promise<StateJob[]> => {
  const tree = await readTrees(work, [rootId]);
  if (tree.length === 0 || !isPrunable(tree, bounds)) return [];
  if ((await findDependantRoots(work, tree, new Set([rootId]))).length > 0) return [];
  await removeTree(work, tree);
  return tree.map(({ row }) => row);
};

const tryTree = async (
  store: Store,
  call: StoreCall,
  rootId: string,
  bounds: PruneBounds,
): Promise<StateJob[]> => {
  const now = call.now ?? 0;
  if (call.session !== undefined)
    return store.work({ ...call, now }, (work) => pruneTree(work, rootId, bounds));
  try {
    return await store.attemptWork(now, (work) => pruneTree(work, rootId, bounds));
  } catch (error) {
    // Somebody holds a job of it: the next pass will see.
    if (isConflict(error)) return [];
    throw error;
  }
};

export const pruneSequences = (store: Store, call: StoreCall & PruneCall): Promise<PruneResult | null> =>
  call.alone === true && call.session === undefined
    ? takeTurn(store.collections, () => prune(store, call))
    : prune(store, call);

const prune = async (store: Store, call: StoreCall & PruneCall): Promise<PruneResult> => {
  const { latest, boundsFor } = readPruneRules(call.rules);
  if (latest === null) return { deletedJobs: 0, failedJobs: [], next: null };
  const roots = await store.collections.jobs
    .find(
      { isRoot: true, ...(call.after === null ? {} : { _id: { $gt: call.after } }) },
      {
        ...inSession(call.session),
        sort: { _id: 1 },
        limit: rootsAtATime,
      },
    )
    .toArray();
  const removed: StateJob[] = [];
  let trees = 0;
  let last: string | null = null;
  for (const { row: root } of roots.map(fromDocument)) {
    if (trees >= call.limit) return result(removed, last);
    last = root.id;
    const bounds = boundsFor(root.sequenceTypeName);
    // Most trees stay, and most of those that stay show it by their first job.
    const mayGo = bounds !== undefined && isJobPastRetention(bounds, root);
    const gone = mayGo ? await tryTree(store, call, root.id, bounds) : [];
    if (gone.length > 0) trees++;
    removed.push(...gone);
  }
  return result(removed, roots.length < rootsAtATime && trees < call.limit ? null : last);
};

const result = (removed: readonly StateJob[], next: string | null): PruneResult => ({
  deletedJobs: removed.length,
  failedJobs: removed.filter(({ status }) => status === "failed").map(referenceTo),
  next,
});
