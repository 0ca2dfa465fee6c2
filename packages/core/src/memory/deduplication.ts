import { isWaiting } from "../store/rules/edits.ts";
import type { JobRecord } from "./job-record.ts";

/** The sequences of each (type, deduplication key), by their first jobs. */
export interface DeduplicationIndex {
  add(first: JobRecord): void;
  remove(first: JobRecord): void;
  /** Records whether the sequence is unfinished. Idempotent. */
  setLive(first: JobRecord, live: boolean): void;
  /** The sequence created last, among all, only the unfinished ones, or only those whose first job waits. */
  newest(sequenceTypeName: string, key: string, among: "all" | "live" | "waiting"): JobRecord | undefined;
  /** Whether an unfinished sequence other than this one has its key. */
  hasOtherLive(first: JobRecord): boolean;
}

interface Group {
  // Both sorted by creation: a window then needs a look at the last one only.
  readonly all: JobRecord[];
  readonly live: JobRecord[];
}

// The length keeps a type name that ends like another's key begins apart from it.
const groupKey = (sequenceTypeName: string, key: string): string =>
  `${sequenceTypeName.length}:${sequenceTypeName}${key}`;

const isCreatedBefore = (a: JobRecord, b: JobRecord): boolean =>
  a.row.createdAt !== b.row.createdAt ? a.row.createdAt < b.row.createdAt : a.order < b.order;

/** Where the record is in the list, or would have to be. */
const positionOf = (records: readonly JobRecord[], record: JobRecord): number => {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isCreatedBefore(records[middle] as JobRecord, record)) low = middle + 1;
    else high = middle;
  }
  return low;
};

const include = (records: JobRecord[], record: JobRecord): void => {
  const position = positionOf(records, record);
  if (records[position] !== record) records.splice(position, 0, record);
};

const exclude = (records: JobRecord[], record: JobRecord): void => {
  const position = positionOf(records, record);
  if (records[position] === record) records.splice(position, 1);
};

export const createDeduplicationIndex = (): DeduplicationIndex => {
  const groups = new Map<string, Group>();

  const keyOf = ({ row }: JobRecord): string | undefined =>
    row.deduplicationKey === null ? undefined : groupKey(row.sequenceTypeName, row.deduplicationKey);

  const groupOf = (first: JobRecord): Group | undefined => {
    const key = keyOf(first);
    return key === undefined ? undefined : groups.get(key);
  };

  return {
    add: (first) => {
      const key = keyOf(first);
      if (key === undefined) return;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { all: [first], live: [] });
      else include(group.all, first);
    },
    remove: (first) => {
      const key = keyOf(first);
      const group = groupOf(first);
      if (key === undefined || group === undefined) return;
      exclude(group.all, first);
      exclude(group.live, first);
      if (group.all.length === 0) groups.delete(key);
    },
    setLive: (first, live) => {
      const group = groupOf(first);
      if (group === undefined) return;
      if (live) include(group.live, first);
      else exclude(group.live, first);
    },
    newest: (sequenceTypeName, key, among) => {
      const group = groups.get(groupKey(sequenceTypeName, key));
      if (among !== "waiting") return group?.[among].at(-1);
      return group?.live.findLast(({ row }) => isWaiting(row.status));
    },
    hasOtherLive: (first) => groupOf(first)?.live.some((record) => record !== first) ?? false,
  };
};
