import type { JobReference, NewJob, StateJob } from "leasehold/adapter";
import type { SqlRow } from "./provider.ts";
import { isNull, jobStatus, text } from "./sql/row-values.ts";
import type { RowsColumn } from "./sql/rows-parameter.ts";

// Each property of a job once: which column keeps it, and how it gets there and back. The insert statement, the select
// lists and the readers are made from this table; a new property needs a migration and a line here.
//
// A value that is usual for a job travels as null, in both directions: that costs the server and the driver next to nothing.

type ColumnType = "id" | "text" | "bigint" | "int" | "boolean";

interface JobColumn<TProperty extends keyof StateJob> {
  readonly column: string;
  readonly type: ColumnType;
  /**
   * What nearly every job has here: the value of another column, or a constant with the way it is stored. Without it
   * that is null, unless every job has a value of its own.
   */
  readonly usually?:
    | { readonly sameAs: string }
    | { readonly value: StateJob[TProperty]; readonly stored: unknown };
  /** For a column with several meanings: only in jobs of this status it has this one, under this name. */
  readonly when?: { readonly status: StateJob["status"]; readonly as: string };
  /** What a new job brings along, null for what is usual. Other columns begin with their default. */
  readonly insert?: (job: NewJob) => string | number | boolean | null;
  /** New jobs never have null here, and those of one call mostly the same: it then travels once. */
  readonly insertedOnce?: true;
  /** Reads what is not simply of the column's type. */
  readonly read?: (stored: unknown) => StateJob[TProperty];
}

const zero = { value: 0, stored: 0 } as const;

const columns: { readonly [TProperty in keyof StateJob]: JobColumn<TProperty> } = {
  // What every job has of its own; `readJob` knows these by name.
  id: { column: "id", type: "id", insert: (job) => job.id },
  input: { column: "input", type: "text", insert: (job) => job.input },
  createdAt: { column: "created_at", type: "bigint" },
  attempt: { column: "attempt", type: "int" },
  maxAttempts: { column: "max_attempts", type: "int", insertedOnce: true, insert: (job) => job.maxAttempts },
  status: { column: "status", type: "text", read: jobStatus },
  queue: { column: "queue", type: "text", insertedOnce: true, insert: (job) => job.queue },
  typeName: { column: "type_name", type: "text", insertedOnce: true, insert: (job) => job.typeName },

  // What mostly repeats one of those; `readJob` knows these, too.
  scheduledAt: { column: "scheduled_at", type: "bigint", usually: { sameAs: "created_at" } },
  sequenceId: {
    column: "sequence_id",
    type: "id",
    usually: { sameAs: "id" },
    insert: (job) => (job.sequenceId === job.id ? null : job.sequenceId),
  },
  rootSequenceId: {
    column: "root_sequence_id",
    type: "id",
    usually: { sameAs: "id" },
    insert: (job) => (job.rootSequenceId === job.id ? null : job.rootSequenceId),
  },
  sequenceCreatedAt: {
    column: "sequence_created_at",
    type: "bigint",
    usually: { sameAs: "created_at" },
    insert: (job) => job.sequenceCreatedAt,
  },
  sequenceTypeName: {
    column: "sequence_type_name",
    type: "text",
    usually: { sameAs: "type_name" },
    insert: (job) => (job.sequenceTypeName === job.typeName ? null : job.sequenceTypeName),
  },
  leaseVersion: { column: "lease_version", type: "int", usually: { sameAs: "attempt" } },

  // Everything else.
  sequenceIndex: {
    column: "sequence_index",
    type: "int",
    usually: zero,
    insert: (job) => job.sequenceIndex || null,
  },
  priority: { column: "priority", type: "int", usually: zero, insert: (job) => job.priority || null },
  expiredLeases: { column: "expired_leases", type: "int", usually: zero },
  blockerCount: { column: "blocker_count", type: "int", usually: zero },
  openBlockers: { column: "open_blockers", type: "int", usually: zero },
  onBlockerFailure: {
    column: "waits_regardless",
    type: "boolean",
    usually: { value: "fail", stored: false },
    insert: (job) => job.onBlockerFailure === "wait" || null,
    read: (stored) => (stored === true ? "wait" : "fail"),
  },
  maxAttemptsGiven: {
    column: "max_attempts_given",
    type: "boolean",
    usually: { value: true, stored: null },
    insert: (job) => (job.maxAttemptsGiven === false ? false : null),
  },
  lastAttemptAt: { column: "last_attempt_at", type: "bigint" },
  timeoutMs: { column: "timeout_ms", type: "bigint", insert: (job) => job.timeoutMs },
  leaseMs: { column: "lease_ms", type: "bigint", insert: (job) => job.leaseMs },
  leasedUntil: { column: "due_at", type: "bigint", when: { status: "running", as: "leased_until" } },
  completedAt: { column: "finished_at", type: "bigint", when: { status: "completed", as: "completed_at" } },
  failedAt: { column: "finished_at", type: "bigint", when: { status: "failed", as: "failed_at" } },
  originId: { column: "origin_id", type: "id", insert: (job) => job.originId },
  continuedToId: { column: "continued_to_id", type: "id" },
  failedBlockerId: { column: "failed_blocker_id", type: "id" },
  leaseToken: { column: "lease_token", type: "text" },
  leasedBy: { column: "leased_by", type: "text" },
  completedBy: { column: "completed_by", type: "text" },
  failureReason: { column: "failure_reason", type: "text" },
  deduplicationKey: {
    column: "deduplication_key",
    type: "text",
    insert: (job) => job.deduplication?.key ?? null,
  },
  traceContext: { column: "trace_context", type: "text", insert: (job) => job.traceContext },
  output: { column: "output", type: "text" },
  progress: { column: "progress", type: "text" },
  lastError: { column: "last_error", type: "text" },
  lastFailedAt: { column: "last_failed_at", type: "bigint" },
};

type AnyColumn = JobColumn<keyof StateJob> & { readonly property: keyof StateJob };

const allColumns: readonly AnyColumn[] = (Object.keys(columns) as (keyof StateJob)[]).map((property) => ({
  property,
  ...columns[property],
}));

/** What the column has when it is null on the way; undefined if it is then null itself. */
const usualSql = ({ usually }: AnyColumn): string | undefined => {
  if (usually === undefined) return undefined;
  if ("sameAs" in usually) return usually.sameAs;
  return usually.stored === null ? undefined : text(usually.stored);
};

const plainSql = (table: string, { column, when }: AnyColumn): string =>
  when === undefined
    ? `${table}.${column}`
    : `CASE WHEN ${table}.status = '${when.status}' THEN ${table}.${column} END AS ${when.as}`;

const selectSql = (table: string, column: AnyColumn): string => {
  const value = plainSql(table, column);
  const usual = usualSql(column);
  if (usual === undefined) return value;
  const sameAs = column.usually && "sameAs" in column.usually;
  return `nullif(${value}, ${sameAs ? `${table}.${usual}` : usual}) AS ${column.column}`;
};

/** The select list of a job, of the table or alias given, as `toStateJob` reads it. */
export const jobColumns = (table: string, without: readonly (keyof StateJob)[] = []): string =>
  allColumns
    .filter(({ property }) => !without.includes(property))
    .map((column) => selectSql(table, column))
    .join(", ");

/** The columns that a new job brings along, the id first. */
export const insertedColumns = (idType: string): RowsColumn<NewJob>[] =>
  allColumns.flatMap(({ column, type, insert, insertedOnce }) =>
    insert === undefined
      ? []
      : [
          {
            name: column,
            type: type === "id" ? idType : type,
            required: insertedOnce === true,
            read: insert,
          },
        ],
  );

/** What those columns are to hold, by column, in a statement that has them and `created_at` in its scope. */
export const insertedValues: Readonly<Record<string, string>> = Object.fromEntries(
  allColumns
    .filter(({ insert }) => insert !== undefined)
    .map((column) => {
      const usual = usualSql(column);
      return [column.column, usual === undefined ? column.column : `coalesce(${column.column}, ${usual})`];
    }),
);

type MutableJob = { -readonly [TProperty in keyof StateJob]: StateJob[TProperty] };

/** A job about which nothing is unusual; what every job has of its own is still missing. */
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
// Read already, before the rest.
for (const name of ["id", "input", "created_at", "attempt", "max_attempts"]) readers.delete(name);

/**
 * This runs once for every claimed job. Most columns are null and cost no more than being passed over: the fast ways to
 * do that are to copy an object as a whole, to name properties, and to walk over a row.
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
    // As `sameAs` says above.
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
export const claimedColumns = (table: string): string =>
  jobColumns(table, [
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
  ]);

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

/** What is said about a job to those who are not concerned with the rest of it. */
export const referenceColumns: JobPart<keyof JobReference> = pickColumns(
  "id",
  "typeName",
  "queue",
  "sequenceId",
  "sequenceTypeName",
  "rootSequenceId",
);
