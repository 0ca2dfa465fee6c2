import {
  type DeleteCall,
  type DeletionResult,
  isJobPastRetention,
  type PruneBounds,
  type PruneCall,
  type PruneResult,
  readPruneRules,
  referenceTo,
  type StateJob,
} from "leasehold/adapter";
import type { Collection, Document } from "mongodb";
import { type Collections, inSession, type PruneTurn } from "../database/collections.ts";
import type { Store, StoreCall } from "../database/database.ts";
import { isConflict, isDuplicateKey } from "../database/errors.ts";
import { fromDocument, type StoredJob } from "../database/job-document.ts";
import type { Work } from "../database/transactions.ts";
import { dropUnusedKeys } from "./deduplication.ts";

/** The roots outside the set with a job, finished or not, that was given a sequence of these trees as blocker. */
const findDependantRoots = async (
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

const removeTree = async (work: Work, tree: readonly StoredJob[]): Promise<void> => {
  await work.remove(tree.map(({ row }) => row.id));
  await dropUnusedKeys(
    work,
    tree.map(({ row }) => row),
  );
};

const readTrees = (work: Work, rootSequenceIds: readonly string[]): Promise<StoredJob[]> =>
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

/** A process that dies while it prunes holds others up for so long. */
const turnMs = 60_000;

/** Runs alone among all processes, or not at all: then the answer is null. */
export const takeTurn = async <T>({ keys }: Collections, run: () => Promise<T>): Promise<T | null> => {
  const turns = keys as unknown as Collection<PruneTurn>;
  const isFree: Document = { $lte: [{ $ifNull: ["$until", "$$NOW"] }, "$$NOW"] };
  try {
    // While it is taken the filter finds nothing, and the upsert runs into the document that is there.
    await turns.updateOne(
      { _id: "prune", $expr: isFree },
      [{ $set: { until: { $add: ["$$NOW", turnMs] } } }],
      { upsert: true },
    );
  } catch (error) {
    if (isDuplicateKey(error)) return null;
    throw error;
  }
  try {
    return await run();
  } finally {
    await turns.updateOne({ _id: "prune" }, [{ $set: { until: "$$NOW" } }]);
  }
};

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
    // Another transaction has locked a job of the tree: the next pass tries again.
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
    // Most trees stay, and for most of these the first job shows it.
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
