import type { DeleteCall, DeletionResult } from "../../store/contract/creation.ts";
import { referenceTo } from "../../store/contract/job.ts";
import { findDependantRoots } from "../dependants.ts";
import type { JobStore } from "../job-store.ts";
import { liftStop } from "./resume-group.ts";

export const deleteSequences = (store: JobStore, call: DeleteCall): DeletionResult => {
  const rootSequenceIds = new Set(call.rootSequenceIds.filter((id) => store.find(id) !== undefined));
  const notRoots = [...rootSequenceIds].filter((id) => store.find(id)?.row.rootSequenceId !== id);
  if (notRoots.length > 0) return { deleted: [], notRoots, dependantRootSequenceIds: [] };

  const trees = [...rootSequenceIds].map((id) => store.tree(id));
  const dependants = new Set(trees.flatMap((tree) => [...findDependantRoots(store, tree, rootSequenceIds)]));
  if (dependants.size > 0) return { deleted: [], notRoots: [], dependantRootSequenceIds: [...dependants] };

  const deleted = trees.flat().map((record) => {
    store.remove(record);
    liftStop(store, record.row);
    return { ...referenceTo(record.row), status: record.row.status };
  });
  return { deleted, notRoots: [], dependantRootSequenceIds: [] };
};
