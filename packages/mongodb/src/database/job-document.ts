import { expiresAt, recurringJobIdOf, type StateJob } from "leasehold/adapter";
import { DocumentTooLargeError } from "./errors.ts";

/** All fields of a job but its id, and how each is stored. A field that a document lacks is read as null. */
const kinds = {
  typeName: "value",
  sequenceId: "value",
  sequenceTypeName: "value",
  sequenceIndex: "value",
  sequenceCreatedAt: "date",
  rootSequenceId: "value",
  originId: "value",
  traceContext: "value",
  queue: "value",
  priority: "value",
  status: "value",
  input: "value",
  output: "value",
  progress: "value",
  createdAt: "date",
  scheduledAt: "date",
  attempt: "value",
  maxAttempts: "value",
  maxAttemptsGiven: "value",
  timeoutMs: "value",
  leaseMs: "value",
  leaseToken: "value",
  leaseVersion: "value",
  leasedBy: "value",
  deployment: "value",
  leasedUntil: "date",
  expiredLeases: "value",
  lastAttemptAt: "date",
  lastError: "value",
  lastFailedAt: "date",
  completedAt: "date",
  completedBy: "value",
  continuedToId: "value",
  failedAt: "date",
  failureReason: "value",
  failedBlockerId: "value",
  deduplicationKey: "value",
  onBlockerFailure: "value",
  blockerCount: "value",
  openBlockers: "value",
  recurrence: "value",
  expireAfterMs: "value",
  replacedBy: "value",
  group: "value",
  ordered: "value",
  limited: "value",
} as const;

type Kinds = typeof kinds;

type JobField = Exclude<keyof StateJob, "id">;

// Does not compile while a field is missing above.
const all: Readonly<Record<JobField, "value" | "date">> = kinds;

const jobFields: readonly (readonly [JobField, "value" | "date"])[] = Object.entries(all) as [
  JobField,
  "value" | "date",
][];

export type StoredFields = {
  readonly [TField in JobField]: Kinds[TField] extends "date"
    ? StateJob[TField] extends number
      ? Date
      : Date | null
    : StateJob[TField];
};

/** How a job is stored: the fields of `StateJob`, times as dates, and what the indexes need beside them. */
export interface JobDocument extends StoredFields {
  readonly _id: string;
  /** When the job can be claimed: pending, its schedule; running, the end of its lease; else null. */
  readonly dueAt: Date | null;
  /** When the job fails unless its first attempt has begun (`expireAfterMs`); null for never. */
  readonly expiresAt: Date | null;
  /** Pending or running: the jobs that a claim may look at. */
  readonly live: boolean;
  /** The order of creation, within one moment. */
  readonly position: number;
  /** The first job of a tree. */
  readonly isRoot: boolean;
  /** As they were given. */
  readonly blockerIds: readonly string[];
  /** A job waits for the sequence, or has waited: its end writes more than this document. */
  readonly hasWaiters: boolean;
  readonly finishedAt: Date | null;
  /** The recurring job that started it; absent for most jobs. */
  readonly recurringJobId?: string;
  /** Raised to lock the job: a write that changes nothing takes no lock. */
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

// The largest date JavaScript can hold.
const latest = 8_640_000_000_000_000;

const toDate = (time: number | null): Date | null =>
  time === null ? null : new Date(Math.min(time, latest));

export const toDocument = ({ row, position, blockerIds, hasWaiters }: StoredJob): JobDocument => {
  const stored = Object.fromEntries(
    jobFields.map(([name, kind]) => [name, kind === "date" ? toDate(row[name] as number | null) : row[name]]),
  );
  const due = row.status === "pending" ? row.scheduledAt : row.status === "running" ? row.leasedUntil : null;
  return {
    _id: row.id,
    ...(stored as unknown as StoredFields),
    dueAt: toDate(due),
    expiresAt: toDate(expiresAt(row)),
    live: row.status === "pending" || row.status === "running",
    position,
    isRoot: row.id === row.rootSequenceId,
    blockerIds,
    hasWaiters,
    finishedAt: toDate(row.completedAt ?? row.failedAt),
    ...(row.recurrence !== null && { recurringJobId: recurringJobIdOf(row.recurrence)! }),
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

/** The server refuses documents of more than 16 MB, which leaves some room for what it takes itself. */
const mostBytes = 15 * 1024 * 1024;

const bytesPerField = 48;

const bytesOf = (value: unknown): number => {
  if (typeof value === "string") return Buffer.byteLength(value) + bytesPerField;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + bytesOf(item), bytesPerField);
  return bytesPerField;
};

/** A little more than it really takes. */
export const assertStorable = (document: JobDocument): void => {
  const bytes = Object.values(document).reduce<number>((sum, value) => sum + bytesOf(value), 0);
  if (bytes > mostBytes) throw new DocumentTooLargeError(document._id, bytes, mostBytes);
};
