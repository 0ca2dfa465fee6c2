import type { StateJob } from "leasehold/adapter";
import { jobFields, type StoredFields } from "./job-fields.ts";

/** How a job is stored: the fields of `StateJob`, times as dates, and what the indexes need beside them. */
export interface JobDocument extends StoredFields {
  readonly _id: string;
  /** When the job can be claimed: pending, its schedule; running, the end of its lease; else null. */
  readonly dueAt: Date | null;
  /** Pending or running: the jobs that a claim may look at. */
  readonly live: boolean;
  /** The order of creation, within one moment. */
  readonly position: number;
  /** The first job of a tree. */
  readonly isRoot: boolean;
  /** As they were given. */
  readonly blockerIds: readonly string[];
  /** Somebody waits for the sequence, or has done so: its end is more than a write to this document. */
  readonly hasWaiters: boolean;
  readonly finishedAt: Date | null;
  /** Raised by whoever only wants to lock the job: a write that changes nothing takes no lock. */
  readonly touched: number;
  /** The calls that ended the latest attempt and renewed the latest lease, so that they recognise what they did. */
  readonly mark: string | null;
  readonly renewal: string | null;
}

/** A job with what only the store knows of it. */
export interface StoredJob {
  readonly row: StateJob;
  readonly position: number;
  readonly blockerIds: readonly string[];
  readonly hasWaiters: boolean;
}

const toDate = (time: number | null): Date | null => (time === null ? null : new Date(time));

export const toDocument = ({ row, position, blockerIds, hasWaiters }: StoredJob): JobDocument => {
  const stored = Object.fromEntries(
    jobFields.map(([name, kind]) => [name, kind === "date" ? toDate(row[name] as number | null) : row[name]]),
  );
  const due = row.status === "pending" ? row.scheduledAt : row.status === "running" ? row.leasedUntil : null;
  return {
    _id: row.id,
    ...(stored as unknown as StoredFields),
    dueAt: toDate(due),
    live: row.status === "pending" || row.status === "running",
    position,
    isRoot: row.id === row.rootSequenceId,
    blockerIds,
    hasWaiters,
    finishedAt: toDate(row.completedAt ?? row.failedAt),
    touched: 0,
    mark: null,
    renewal: null,
  };
};

export const fromDocument = (document: JobDocument): StoredJob => {
  const row: Record<string, unknown> = { id: document._id };
  for (const [name, kind] of jobFields) {
    const value = document[name] ?? null;
    row[name] = kind === "date" && value instanceof Date ? value.getTime() : value;
  }
  const { position, blockerIds, hasWaiters } = document;
  return { row: row as unknown as StateJob, position, blockerIds, hasWaiters };
};
