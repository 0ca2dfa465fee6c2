import type { JobReference, StateJob } from "leasehold/adapter";
import { allColumns, type ColumnType, jobColumns, plainSql } from "./job-columns.ts";
import type { SqlRow } from "./provider.ts";
import { isNull, jobStatus, text } from "./sql/row-values.ts";

type MutableJob = { -readonly [TProperty in keyof StateJob]: StateJob[TProperty] };

/** A job with nothing but usual values. What every job has its own value of is still missing. */
const usualJob = Object.fromEntries(
  allColumns.map(({ property, usually }) => [
    property,
    usually !== undefined && "value" in usually ? usually.value : null,
  ]),
) as unknown as StateJob;

const readersByType: Record<ColumnType, (stored: unknown) => string | number | boolean> = {
  id: text,
  text,
  bigint: Number,
  int: Number,
  boolean: (stored) => stored === true,
};

/** How to read what is not null, by the name under which it is selected. */
const readers = new Map(
  allColumns.map(({ property, column, type, when, read }) => [
    when?.as ?? column,
    { property, read: read ?? readersByType[type] },
  ]),
);
// These are read before the others.
for (const name of ["id", "input", "created_at", "attempt", "max_attempts"]) readers.delete(name);

/**
 * This runs for every claimed job, so it is written for speed. Most columns are null. It copies an object as a whole, sets
 * properties by name, and walks over the row once: each of these is fast, while reading every column by a name from the table
 * is not.
 */
const readJob = (row: SqlRow, known: StateJob): MutableJob => {
  const id = text(row["id"]);
  const createdAt = Number(row["created_at"]);
  const attempt = Number(row["attempt"]);
  const job: MutableJob = {
    ...known,
    id,
    createdAt,
    attempt,
    input: text(row["input"]),
    maxAttempts: Number(row["max_attempts"]),
    // As `sameAs` says in the table.
    scheduledAt: createdAt,
    sequenceId: id,
    rootSequenceId: id,
    sequenceCreatedAt: createdAt,
    sequenceTypeName: known.typeName,
    leaseVersion: attempt,
  };
  for (const name in row) {
    const stored = row[name];
    if (isNull(stored)) continue;
    const reader = readers.get(name);
    // The table holds only readers that return what their property is.
    if (reader !== undefined) (job as Record<string, unknown>)[reader.property] = reader.read(stored);
  }
  return job;
};

export const toStateJob = (row: SqlRow): StateJob =>
  readJob(row, {
    ...usualJob,
    typeName: text(row["type_name"]),
    queue: text(row["queue"]),
    status: jobStatus(row["status"]),
  });

/** The select list of a job that has just been claimed, without what the claimer knows and what no running job has. */
export const claimedColumns = (table: string, flow: boolean): string =>
  jobColumns(table, {
    flow,
    without: [
      "status",
      "queue",
      "typeName",
      "leaseToken",
      "leasedBy",
      "leasedUntil",
      "continuedToId",
      "failedBlockerId",
      "completedAt",
      "failedAt",
      "completedBy",
      "failureReason",
      "output",
    ],
  });

export interface ClaimTerms {
  readonly workerId: string;
  readonly leaseToken: string;
  /** Of jobs that do not have their own. */
  readonly leaseMs: number;
}

/** Reads jobs of one queue and type that have just been claimed. */
export const createClaimedJobReader = (
  { queue, typeName }: { readonly queue: string; readonly typeName: string },
  { workerId, leaseToken, leaseMs }: ClaimTerms,
): ((row: SqlRow) => StateJob) => {
  const known: StateJob = {
    ...usualJob,
    queue,
    typeName,
    status: "running",
    leaseToken,
    leasedBy: workerId,
  };
  return (row) => {
    const job = readJob(row, known);
    job.leasedUntil = Number(job.lastAttemptAt) + (job.leaseMs ?? leaseMs);
    return job;
  };
};

/** Some properties of jobs: the select list for these, and its reader. */
export interface JobPart<TProperty extends keyof StateJob> {
  select(table: string): string;
  read(row: SqlRow): Pick<StateJob, TProperty>;
}

export const pickColumns = <TProperty extends keyof StateJob>(
  ...properties: readonly TProperty[]
): JobPart<TProperty> => {
  const picked = allColumns.filter(({ property }) => properties.some((wanted) => wanted === property));
  return {
    select: (table) => picked.map((column) => plainSql(table, column)).join(", "),
    read: (row) =>
      Object.fromEntries(
        picked.map(({ property, column, type, when, read = readersByType[type] }) => {
          const stored = row[when?.as ?? column];
          return [property, isNull(stored) ? usualJob[property] : read(stored)];
        }),
      ) as Pick<StateJob, TProperty>,
  };
};

/** The properties of a `JobReference`. */
export const referenceColumns: JobPart<keyof JobReference> = pickColumns(
  "id",
  "typeName",
  "queue",
  "sequenceId",
  "sequenceTypeName",
  "rootSequenceId",
);
