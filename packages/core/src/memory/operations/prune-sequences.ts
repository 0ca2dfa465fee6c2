import type { PruneCall, PruneResult } from "../../store/contract/creation.ts";
import { referenceTo } from "../../store/contract/job.ts";
import { isJobPastRetention, type PruneBounds, readPruneRules } from "../../store/rules/prune.ts";
import { findDependantRoots } from "../dependants.ts";
import type { JobRecord } from "../job-record.ts";
import type { JobStore } from "../job-store.ts";

const isPrunable = (tree: readonly JobRecord[], bounds: PruneBounds): boolean =>
  tree.every(({ row }) => isJobPastRetention(bounds, row));

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
