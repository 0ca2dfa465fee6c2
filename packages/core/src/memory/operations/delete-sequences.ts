import { referenceTo } from "../../model/job.ts";
import { isPastRetention, type PruneBounds, readPruneRules } from "../../rules/prune-rules.ts";
import type { DeletionResult, PruneResult, PruneRule } from "../../contracts/state-adapter.ts";
import type { JobRecord } from "../job-record.ts";
import type { JobStore } from "../job-store.ts";

/** The roots outside `rootSequenceIds` with a job, finished or not, that was given a sequence of this tree as blocker. */
function* findDependantRoots(
  store: JobStore,
  tree: readonly JobRecord[],
  rootSequenceIds: ReadonlySet<string>,
): Iterable<string> {
  for (const { row } of tree) {
    if (row.sequenceIndex > 0) continue;
    for (const { row: dependant } of store.dependants(row.sequenceId)) {
      if (!rootSequenceIds.has(dependant.rootSequenceId)) yield dependant.rootSequenceId;
    }
  }
}

export const deleteSequences = (store: JobStore, given: readonly string[]): DeletionResult => {
  const rootSequenceIds = new Set(given.filter((id) => store.find(id) !== undefined));
  const notRoots = [...rootSequenceIds].filter((id) => store.find(id)?.row.rootSequenceId !== id);
  if (notRoots.length > 0) return { deleted: [], notRoots, dependantRootSequenceIds: [] };

  const trees = [...rootSequenceIds].map((id) => store.tree(id));
  const dependants = new Set(trees.flatMap((tree) => [...findDependantRoots(store, tree, rootSequenceIds)]));
  if (dependants.size > 0) return { deleted: [], notRoots: [], dependantRootSequenceIds: [...dependants] };

  const deleted = trees.flat().map((record) => {
    store.remove(record);
    return { ...referenceTo(record.row), status: record.row.status };
  });
  return { deleted, notRoots: [], dependantRootSequenceIds: [] };
};

export interface PruneCall {
  readonly rules: readonly PruneRule[];
  readonly limit: number;
}

const isPrunable = (tree: readonly JobRecord[], bounds: PruneBounds): boolean =>
  tree.every(({ row: { status, completedAt, failedAt, continuedToId } }) =>
    isPastRetention(bounds, {
      status,
      finishedAt: completedAt ?? failedAt,
      isContinued: continuedToId !== null,
    }),
  );

/** Always looks from the beginning: what went before is gone, and what stays is passed quickly. */
export const pruneSequences = (store: JobStore, { rules, limit }: PruneCall): PruneResult => {
  const { boundsFor } = readPruneRules(rules);
  const trees: JobRecord[][] = [];
  for (const { id, row } of store.records()) {
    if (trees.length >= limit) break;
    if (row.rootSequenceId !== id) continue;
    const bounds = boundsFor(row.sequenceTypeName);
    if (bounds === undefined) continue;
    const tree = store.tree(id);
    if (!isPrunable(tree, bounds)) continue;
    const [dependantRoot] = findDependantRoots(store, tree, new Set([id]));
    if (dependantRoot === undefined) trees.push(tree);
  }
  const records = trees.flat();
  for (const record of records) store.remove(record);
  return {
    deletedJobs: records.length,
    failedJobs: records.filter(({ row }) => row.status === "failed").map(({ row }) => referenceTo(row)),
    next: trees.length >= limit ? "more" : null,
  };
};
