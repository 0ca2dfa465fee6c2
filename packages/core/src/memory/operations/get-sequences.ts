import type { StateSequence } from "../../store/contract/job.ts";
import type { StoreView } from "../store-view.ts";

export const getSequence = (view: StoreView, sequenceId: string): StateSequence | undefined => {
  const current = view.current(sequenceId)?.row;
  const first = view.find(sequenceId)?.row;
  return current === undefined || first === undefined ? undefined : { first, current };
};

export const getBlockers = (view: StoreView, jobId: string): StateSequence[] => {
  const sequences: StateSequence[] = [];
  for (const sequenceId of view.find(jobId)?.blockerIds ?? []) {
    const sequence = getSequence(view, sequenceId);
    if (sequence !== undefined) sequences.push(sequence);
  }
  return sequences;
};
