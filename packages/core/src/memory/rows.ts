import { SortedList } from "../base/sorted-list.ts";
import type { StateCause, StateProcess, StatisticsBucket } from "../store/contract/history.ts";
import { isTerminal, type StateJob, type StateSequence } from "../store/contract/job.ts";
import type { StateRecurringJob } from "../store/contract/recurring.ts";
import type { StoreMethods, SyncOperation } from "../store/contract/state-adapter.ts";
import { expiresAt } from "../store/rules/edits.ts";
import { byTime, type ClaimQueues, enter, getOrAdd, type JobRecord, leave, type Queue } from "./groups.ts";
import { type Journal, remember } from "./transactions.ts";

type Index = Map<string, SortedList<JobRecord>>;

const byCreation = (a: JobRecord, b: JobRecord): number => a.order - b.order;

const byExpiry = (a: JobRecord, b: JobRecord): number =>
  (expiresAt(a.row) ?? 0) - (expiresAt(b.row) ?? 0) || a.order - b.order;

/** All that is stored. Only the functions of this file and of groups.ts change it: they keep the indexes and the journal. */
export class Rows implements ClaimQueues {
  readonly journal: Journal = { undos: null };
  readonly jobs: Map<string, JobRecord> = new Map();
  readonly queues: Map<string, Queue> = new Map();
  readonly leases: SortedList<JobRecord> = new SortedList(byTime);
  /** The jobs that can expire, by the time at which they do. */
  readonly expiring: SortedList<JobRecord> = new SortedList(byExpiry);
  /** Of each sequence all jobs but the first. Most sequences have none. */
  readonly continuations: Index = new Map();
  /** Of each tree all jobs but the first of the root. */
  readonly descendants: Index = new Map();
  /** By sequence: the jobs that were given it as a blocker. */
  readonly dependants: Index = new Map();
  /** By type and deduplication key: the first jobs of the sequences. */
  readonly duplicates: Index = new Map();
  readonly recurring: Map<string, StateRecurringJob> = new Map();
  readonly processes: Map<string, StateProcess> = new Map();
  readonly buckets: Map<string, StatisticsBucket> = new Map();
  readonly causes: Map<string, StateCause> = new Map();
  created = 0;
  groupKeys = 0;
}

/** A method of the contract, run on rows. */
export type Operation<TMethod extends keyof StoreMethods> = SyncOperation<Rows, TMethod>;

export type Operations = { readonly [TMethod in keyof StoreMethods]: Operation<TMethod> };

export const currentOf = (rows: Rows, sequenceId: string): JobRecord | undefined =>
  rows.continuations.get(sequenceId)?.findLast(() => true) ?? firstOf(rows, sequenceId);

// The id of a sequence is the id of its first job. The id of a continuation names no sequence.
const firstOf = ({ jobs }: Rows, sequenceId: string): JobRecord | undefined => {
  const record = jobs.get(sequenceId);
  return record?.row.sequenceId === sequenceId ? record : undefined;
};

export const sequenceOf = (rows: Rows, sequenceId: string): StateSequence | undefined => {
  const first = firstOf(rows, sequenceId);
  return first && { first: first.row, current: currentOf(rows, sequenceId)!.row };
};

export const treeOf = ({ jobs, descendants }: Rows, rootSequenceId: string): JobRecord[] => {
  const root = jobs.get(rootSequenceId);
  if (root?.row.rootSequenceId !== rootSequenceId) return [];
  return [root, ...(descendants.get(rootSequenceId) ?? [])];
};

export const dependantsOf = ({ dependants }: Rows, sequenceId: string): JobRecord[] => [
  ...(dependants.get(sequenceId) ?? []),
];

type Deduplicated = Pick<StateJob, "sequenceTypeName" | "deduplicationKey">;

// The length separates a type name from a key that begins like the end of another type name.
const keyOf = ({ sequenceTypeName, deduplicationKey }: Deduplicated): string =>
  `${sequenceTypeName.length}:${sequenceTypeName}${deduplicationKey}`;

/** The first job of the latest sequence with this type and deduplication key that is wanted. */
export const findDuplicate = (
  { duplicates }: Rows,
  job: Deduplicated,
  isWanted: (first: JobRecord) => boolean,
): JobRecord | undefined =>
  job.deduplicationKey === null ? undefined : duplicates.get(keyOf(job))?.findLast(isWanted);

export const isUnfinished = (rows: Rows, { row }: JobRecord): boolean =>
  !isTerminal(currentOf(rows, row.sequenceId)!.row.status);

const addTo = (index: Index, key: string, record: JobRecord): void =>
  getOrAdd(index, key, () => new SortedList(byCreation)).add(record);

const deleteFrom = (index: Index, key: string, record: JobRecord): void => {
  const records = index.get(key);
  records?.delete(record);
  if (records?.size === 0) index.delete(key);
};

// The only place where a row changes. Null means that the job is not stored.
const replace = (rows: Rows, record: JobRecord, before: StateJob | null, after: StateJob | null): void => {
  remember(rows.journal, () => replace(rows, record, after, before));
  if (before !== null) {
    leave(rows, record);
    if (expiresAt(before) !== null) rows.expiring.delete(record);
  }
  if (before === null || after === null) {
    const { sequenceId, sequenceIndex, rootSequenceId, deduplicationKey } = record.row;
    const changeIndex = before === null ? addTo : deleteFrom;
    if (before === null) rows.jobs.set(record.id, record);
    else rows.jobs.delete(record.id);
    if (record.id !== rootSequenceId) changeIndex(rows.descendants, rootSequenceId, record);
    if (sequenceIndex > 0) changeIndex(rows.continuations, sequenceId, record);
    else if (deduplicationKey !== null) changeIndex(rows.duplicates, keyOf(record.row), record);
  }
  if (after === null) return;
  record.row = after;
  enter(rows, record);
  if (expiresAt(after) !== null) rows.expiring.add(record);
};

const none: readonly never[] = [];

export const insert = (rows: Rows, row: StateJob): JobRecord => {
  const rest = { blockerIds: none, attempts: none, fingerprint: null, place: null };
  const record: JobRecord = { id: row.id, order: rows.created, row, ...rest };
  rows.created += 1;
  replace(rows, record, null, row);
  return record;
};

export const update = (rows: Rows, record: JobRecord, row: StateJob): void =>
  replace(rows, record, record.row, row);

export const remove = (rows: Rows, record: JobRecord): void => {
  replace(rows, record, record.row, null);
  setBlockers(rows, record, none);
};

export const setBlockers = (rows: Rows, record: JobRecord, blockerIds: readonly string[]): void => {
  const before = record.blockerIds;
  if (before === blockerIds) return;
  remember(rows.journal, () => setBlockers(rows, record, before));
  for (const sequenceId of new Set(before)) deleteFrom(rows.dependants, sequenceId, record);
  for (const sequenceId of new Set(blockerIds)) addTo(rows.dependants, sequenceId, record);
  record.blockerIds = blockerIds;
};

/** Writes one row of a table. Undefined deletes the row. */
export const put = <T>(rows: Rows, table: Map<string, T>, key: string, value: T | undefined): void => {
  const before = table.get(key);
  remember(rows.journal, () => put(rows, table, key, before));
  if (value === undefined) table.delete(key);
  else table.set(key, value);
};
