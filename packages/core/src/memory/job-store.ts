import { isTerminal, type StateJob } from "../store/contract/job.ts";
import { createDeduplicationIndex } from "./deduplication.ts";
import type { DeduplicationIndex } from "./deduplication.ts";
import { createFlowCells, type FlowCells } from "./flow-cells.ts";
import type { JobHistory } from "./job-history.ts";
import type { JobRecord } from "./job-record.ts";
import { createExpiryIndex } from "./expiry-index.ts";
import type { ExpiryIndex } from "./expiry-index.ts";
import type { Journal } from "./journal.ts";
import { createRunnableIndex } from "./runnable-index.ts";
import type { RunnableIndex } from "./runnable-index.ts";
import { createSequenceIndex } from "./sequence-index.ts";

/** All jobs with every index over them. Changes go through here only, so no index can be forgotten. */
export interface JobStore {
  readonly runnable: RunnableIndex;
  readonly flow: FlowCells;
  readonly deduplication: Pick<DeduplicationIndex, "newest" | "hasOtherLive">;
  readonly expiry: Pick<ExpiryIndex, "takeExpired">;

  find(id: string): JobRecord | undefined;
  /** The job whose place the start with this id has taken. */
  findReplacedBy(startId: string): JobRecord | undefined;
  /** The latest job of a sequence. */
  current(sequenceId: string): JobRecord | undefined;
  /** The jobs of a sequence in order. */
  members(sequenceId: string): readonly JobRecord[];
  tree(rootSequenceId: string): JobRecord[];
  /** Jobs that were given this sequence as a blocker. */
  dependants(sequenceId: string): Iterable<JobRecord>;
  hasDependants(sequenceId: string): boolean;
  records(): Iterable<JobRecord>;

  insert(row: StateJob): JobRecord;
  update(record: JobRecord, row: StateJob): void;
  remove(record: JobRecord): void;
  setBlockers(record: JobRecord, blockerIds: readonly string[]): void;
  setHistory(record: JobRecord, history: JobHistory | null): void;

  /** The time of the present call: only a guess at which jobs are due, a claim looks again with its own. */
  setTime(now: number): void;
  /** From now on remembers in this journal what changes; null for nowhere. */
  setJournal(journal: Journal | null): void;
  /** Puts everything back to where it was when the journal began. */
  undo(journal: Journal): void;
}

const none: readonly string[] = [];

export const createJobStore = (): JobStore => {
  const records = new Map<string, JobRecord>();
  const dependants = new Map<string, Set<JobRecord>>();
  const flow = createFlowCells();
  const runnable = createRunnableIndex(flow);
  const sequences = createSequenceIndex();
  const deduplication = createDeduplicationIndex();
  const expiry = createExpiryIndex();
  const byReplacement = new Map<string, JobRecord>();
  let journal: Journal | null = null;
  let created = 0;
  let time = 0;

  // A sequence goes by the id of its first job; the id of a continuation names no sequence.
  const firstOf = (sequenceId: string): JobRecord | undefined => {
    const record = records.get(sequenceId);
    return record?.row.sequenceId === sequenceId ? record : undefined;
  };

  const current = (sequenceId: string): JobRecord | undefined =>
    sequences.continuations(sequenceId).at(-1) ?? firstOf(sequenceId);

  const remember = (record: JobRecord, row: StateJob | null): void => {
    if (journal === null || journal.jobs.has(record.id)) return;
    const { order, blockerIds, history } = record;
    journal.jobs.set(record.id, { record, row, order, blockerIds, history });
  };

  const refreshLiveness = (sequenceId: string): void => {
    const first = firstOf(sequenceId);
    if (first === undefined || first.row.deduplicationKey === null) return;
    const last = current(sequenceId);
    deduplication.setLive(first, last !== undefined && !isTerminal(last.row.status));
  };

  const refreshReplacement = (record: JobRecord, before: StateJob | null, after: StateJob | null): void => {
    const [earlier = null, later = null] = [before?.replacedBy, after?.replacedBy];
    if (earlier === later) return;
    if (earlier !== null && byReplacement.get(earlier) === record) byReplacement.delete(earlier);
    if (later !== null) byReplacement.set(later, record);
  };

  // The one place where a row changes; null means "not stored".
  const replace = (record: JobRecord, before: StateJob | null, after: StateJob | null): void => {
    remember(record, before);
    if (after === null) {
      records.delete(record.id);
      sequences.remove(record);
      deduplication.remove(record);
    } else {
      record.row = after;
      if (before === null) {
        records.set(record.id, record);
        record.queueType = runnable.open(after.queue, after.typeName);
        sequences.add(record);
        if (after.sequenceIndex === 0) deduplication.add(record);
      }
    }
    runnable.update(record, before, after, time);
    expiry.update(record, before, after);
    refreshReplacement(record, before, after);
    if (before === null || after === null || isTerminal(before.status) !== isTerminal(after.status)) {
      refreshLiveness(record.row.sequenceId);
    }
  };

  const setBlockers = (record: JobRecord, blockerIds: readonly string[]): void => {
    if (record.blockerIds === blockerIds) return;
    remember(record, record.row);
    for (const sequenceId of record.blockerIds) {
      const waiting = dependants.get(sequenceId);
      waiting?.delete(record);
      if (waiting?.size === 0) dependants.delete(sequenceId);
    }
    for (const sequenceId of blockerIds) {
      const waiting = dependants.get(sequenceId);
      if (waiting === undefined) dependants.set(sequenceId, new Set([record]));
      else waiting.add(record);
    }
    record.blockerIds = blockerIds;
  };

  const setHistory = (record: JobRecord, history: JobHistory | null): void => {
    remember(record, record.row);
    record.history = history;
  };

  const remove = (record: JobRecord): void => {
    replace(record, record.row, null);
    setBlockers(record, none);
  };

  return {
    runnable,
    flow,
    deduplication,
    expiry,
    findReplacedBy: (startId) => byReplacement.get(startId),
    find: (id) => records.get(id),
    current,
    members: (sequenceId) => {
      const first = firstOf(sequenceId);
      return first === undefined ? [] : [first, ...sequences.continuations(sequenceId)];
    },
    tree: (rootSequenceId) => {
      const root = records.get(rootSequenceId);
      if (root === undefined || root.row.rootSequenceId !== rootSequenceId) return [];
      return [root, ...sequences.descendants(rootSequenceId)];
    },
    dependants: (sequenceId) => dependants.get(sequenceId) ?? [],
    hasDependants: (sequenceId) => dependants.has(sequenceId),
    records: () => records.values(),

    insert: (row) => {
      const queueType = runnable.open(row.queue, row.typeName);
      const record: JobRecord = {
        id: row.id,
        order: created,
        row,
        blockerIds: none,
        history: null,
        queueType,
        line: queueType.ungrouped,
        entry: null,
      };
      created += 1;
      replace(record, null, row);
      return record;
    },
    update: (record, row) => replace(record, record.row, row),
    remove,
    setBlockers,
    setHistory,

    setTime: (now) => {
      time = now;
    },
    setJournal: (next) => {
      journal = next;
      flow.setJournal(next?.flow ?? null);
    },
    undo: (images) => {
      journal = null;
      flow.setJournal(null);
      flow.undo(images.flow);
      for (const { record, row, blockerIds, history } of [...images.jobs.values()].reverse()) {
        const stored = records.get(record.id);
        // Another record under this id is one that took the place of a deleted job.
        if (stored !== undefined && (row === null || stored !== record)) remove(stored);
        if (row === null) continue;
        replace(record, stored === record ? record.row : null, row);
        setBlockers(record, blockerIds);
        record.history = history;
      }
      for (const [cell, { state, lines }] of images.flow) {
        if (state !== null) runnable.reconsider(cell);
        else for (const group of lines.keys()) runnable.reconsider({ ...cell, group });
      }
    },
  };
};
