import type { JobRecord } from "./job-record.ts";

/**
 * Which jobs make up a sequence and a tree. Most jobs are alone in both, and then their own id already says everything;
 * so only continuations, and only jobs below a root's first, take up room here.
 */
export interface SequenceIndex {
  add(record: JobRecord): void;
  remove(record: JobRecord): void;
  /** Every job after the first, in order. */
  continuations(sequenceId: string): readonly JobRecord[];
  /** Every job of the tree except the root's first. */
  descendants(rootSequenceId: string): Iterable<JobRecord>;
}

export const createSequenceIndex = (): SequenceIndex => {
  const continuations = new Map<string, JobRecord[]>();
  const descendants = new Map<string, Set<JobRecord>>();

  const addContinuation = (record: JobRecord): void => {
    const { sequenceId, sequenceIndex } = record.row;
    const records = continuations.get(sequenceId);
    if (records === undefined) {
      continuations.set(sequenceId, [record]);
      return;
    }
    let position = records.length;
    while (position > 0 && (records[position - 1] as JobRecord).row.sequenceIndex > sequenceIndex)
      position -= 1;
    records.splice(position, 0, record);
  };

  const removeContinuation = (record: JobRecord): void => {
    const { sequenceId } = record.row;
    const records = continuations.get(sequenceId);
    if (records === undefined) return;
    // From the end, where whole sequences are taken apart and new continuations are rolled back.
    const position = records.lastIndexOf(record);
    if (position >= 0) records.splice(position, 1);
    if (records.length === 0) continuations.delete(sequenceId);
  };

  return {
    add: (record) => {
      const { row, id } = record;
      if (row.sequenceIndex > 0) addContinuation(record);
      if (id === row.rootSequenceId) return;
      const records = descendants.get(row.rootSequenceId);
      if (records === undefined) descendants.set(row.rootSequenceId, new Set([record]));
      else records.add(record);
    },
    remove: (record) => {
      const { row } = record;
      if (row.sequenceIndex > 0) removeContinuation(record);
      const records = descendants.get(row.rootSequenceId);
      records?.delete(record);
      if (records?.size === 0) descendants.delete(row.rootSequenceId);
    },
    continuations: (sequenceId) => continuations.get(sequenceId) ?? [],
    descendants: (rootSequenceId) => descendants.get(rootSequenceId) ?? [],
  };
};
