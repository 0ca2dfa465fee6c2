import type { ClaimCall, JobReference, NewJob, OrderedGroup, StateJob } from "leasehold/adapter";
import type { SqlRow } from "../database/provider.ts";
import { isNull, jobStatus, type RowsColumn, text } from "../database/sql.ts";

// Each property of a job once: its column, its type, its usual value, and its value in a new job. The insert statement, the
// select lists and the readers are made from this table. A new property needs a migration and an entry here.
//
// A usual value travels as null in both directions, which costs the server and the driver very little.

export type ColumnType = "id" | "text" | "bigint" | "int" | "boolean";

type InsertedValue = string | number | boolean | null;

export interface JobColumn<TProperty extends keyof StateJob> {
  readonly column: string;
  readonly type: ColumnType;
  /**
   * The value of nearly every job: that of another column, or a constant together with its stored form. Default: null, except
   * where every job has its own value.
   */
  readonly usually?:
    | { readonly sameAs: keyof StateJob }
    | { readonly value: StateJob[TProperty]; readonly stored: unknown };
  /** For a column with several meanings: it has this one in jobs of this status, and is selected under this name. */
  readonly when?: { readonly status: StateJob["status"]; readonly as: string };
  /**
   * A new job has the value, in the same property, or it follows from the new job: null for the usual one. Columns without
   * this start with their default.
   * `rarely`: few jobs have an unusual value; all others are inserted by a statement without this column.
   * `once`: never null, and mostly the same in all jobs of a call; then the value travels once.
   */
  readonly inserted?: true | "rarely" | "once" | ((job: NewJob) => InsertedValue);
  /** Null in jobs without a group and without limits. */
  readonly ofLimits?: true;
  /** A column that has the value where it is not null: in jobs of ordered groups that have begun. */
  readonly overriddenBy?: string;
  /** Reads the stored value. Default: by the type of the column. */
  readonly read?: (stored: unknown) => StateJob[TProperty];
}

const zero = { value: 0, stored: 0 } as const;

const columns: { readonly [TProperty in keyof StateJob]: JobColumn<TProperty> } = {
  // Every job has its own value of these. `readJob` reads them by name.
  id: { column: "id", type: "id", inserted: true },
  input: { column: "input", type: "text", inserted: true },
  createdAt: { column: "created_at", type: "bigint" },
  attempt: { column: "attempt", type: "int" },
  maxAttempts: { column: "max_attempts", type: "int", inserted: "once" },
  status: { column: "status", type: "text", read: jobStatus },
  queue: { column: "queue", type: "text", inserted: "once" },
  typeName: { column: "type_name", type: "text", inserted: "once" },

  // These mostly repeat one of those above, as `readJob` does.
  scheduledAt: { column: "scheduled_at", type: "bigint", usually: { sameAs: "createdAt" } },
  sequenceId: { column: "sequence_id", type: "id", usually: { sameAs: "id" }, inserted: true },
  rootSequenceId: { column: "root_sequence_id", type: "id", usually: { sameAs: "id" }, inserted: true },
  sequenceCreatedAt: {
    column: "sequence_created_at",
    type: "bigint",
    usually: { sameAs: "createdAt" },
    inserted: true,
  },
  sequenceTypeName: {
    column: "sequence_type_name",
    type: "text",
    usually: { sameAs: "typeName" },
    inserted: true,
  },
  leaseVersion: { column: "lease_version", type: "int", usually: { sameAs: "attempt" } },

  // Everything else.
  sequenceIndex: { column: "sequence_index", type: "int", usually: zero, inserted: true },
  priority: {
    column: "priority",
    type: "int",
    usually: zero,
    overriddenBy: "given_priority",
    inserted: true,
  },
  expiredLeases: { column: "expired_leases", type: "int", usually: zero },
  blockerCount: { column: "blocker_count", type: "int", usually: zero },
  openBlockers: { column: "open_blockers", type: "int", usually: zero },
  onBlockerFailure: {
    column: "waits_on_blocker_failure",
    type: "boolean",
    usually: { value: "fail", stored: false },
    inserted: (job) => job.onBlockerFailure === "wait" || null,
    read: (stored) => (stored === true ? "wait" : "fail"),
  },
  maxAttemptsGiven: {
    column: "max_attempts_explicit",
    type: "boolean",
    usually: { value: true, stored: null },
    inserted: true,
  },
  group: { column: "group_key", type: "text", ofLimits: true, inserted: "rarely" },
  ordered: {
    column: "ordered",
    type: "text",
    ofLimits: true,
    inserted: "rarely",
    read: (stored) => stored as OrderedGroup,
  },
  limited: {
    column: "counted_in",
    type: "int",
    ofLimits: true,
    usually: { value: false, stored: null },
    read: (stored) => stored !== null && stored !== undefined,
  },
  lastAttemptAt: { column: "last_attempt_at", type: "bigint" },
  timeoutMs: { column: "timeout_ms", type: "bigint", inserted: true },
  leaseMs: { column: "lease_ms", type: "bigint", inserted: true },
  leasedUntil: { column: "due_at", type: "bigint", when: { status: "running", as: "leased_until" } },
  completedAt: { column: "finished_at", type: "bigint", when: { status: "completed", as: "completed_at" } },
  failedAt: { column: "finished_at", type: "bigint", when: { status: "failed", as: "failed_at" } },
  originId: { column: "origin_id", type: "id", inserted: true },
  continuedToId: { column: "continued_to_id", type: "id" },
  failedBlockerId: { column: "failed_blocker_id", type: "id" },
  leaseToken: { column: "lease_token", type: "text" },
  leasedBy: { column: "leased_by", type: "text" },
  deployment: { column: "deployment", type: "text" },
  completedBy: { column: "completed_by", type: "text" },
  failureReason: { column: "failure_reason", type: "text" },
  deduplicationKey: {
    column: "deduplication_key",
    type: "text",
    inserted: (job) => job.deduplication?.key ?? null,
  },
  traceContext: { column: "trace_context", type: "text", inserted: true },
  output: { column: "output", type: "text" },
  progress: { column: "progress", type: "text" },
  lastError: { column: "last_error", type: "text" },
  lastFailedAt: { column: "last_failed_at", type: "bigint" },
  recurrence: { column: "recurrence", type: "text", inserted: "rarely" },
  expireAfterMs: { column: "expire_after_ms", type: "bigint", inserted: "rarely" },
  replacedBy: { column: "replaced_by", type: "id" },
};

export type AnyColumn = JobColumn<keyof StateJob> & { readonly property: keyof StateJob };

export const allColumns: readonly AnyColumn[] = (Object.keys(columns) as (keyof StateJob)[]).map(
  (property) => ({
    property,
    ...columns[property],
  }),
);

/** The stored form of a null that travels; undefined if that is null. */
const usualSql = ({ usually }: AnyColumn): string | undefined => {
  if (usually === undefined) return undefined;
  if ("sameAs" in usually) return columns[usually.sameAs].column;
  return usually.stored === null ? undefined : text(usually.stored);
};

/** The stored value. */
const plainSql = (table: string, { column, when }: AnyColumn): string =>
  when === undefined
    ? `${table}.${column}`
    : `CASE WHEN ${table}.status = '${when.status}' THEN ${table}.${column} END AS ${when.as}`;

const selectSql = (table: string, column: AnyColumn, withLimits: boolean): string => {
  const own = plainSql(table, column);
  const value =
    withLimits && column.overriddenBy !== undefined
      ? `coalesce(${table}.${column.overriddenBy}, ${own})`
      : own;
  const usual = usualSql(column);
  if (usual === undefined) return value;
  const sameAs = column.usually && "sameAs" in column.usually;
  return `nullif(${value}, ${sameAs ? `${table}.${usual}` : usual}) AS ${column.column}`;
};

/**
 * The select list of a job, of the table or alias given, as `toStateJob` reads it. `withLimits: false` is for jobs without a
 * group and without limits.
 */
export const jobColumns = (
  table: string,
  {
    without = [],
    withLimits = true,
  }: { readonly without?: readonly (keyof StateJob)[]; readonly withLimits?: boolean } = {},
): string =>
  allColumns
    .filter((column) => !without.includes(column.property) && (withLimits || column.ofLimits !== true))
    .map((column) => selectSql(table, column, withLimits))
    .join(", ");

const insertable = (rare: boolean): readonly AnyColumn[] =>
  allColumns.filter((column) => column.inserted && (rare || column.inserted !== "rarely"));

/** The properties of a new job that have columns. */
type InsertedProperties = Omit<NewJob, "schedule" | "deduplication" | "awaitsBlockers">;

const rarelyInserted = allColumns.filter((column) => column.inserted === "rarely");

/** Whether a job has a value in one of the columns that are rarely inserted. */
export const hasRareValues = (job: NewJob): boolean =>
  rarelyInserted.some(({ property }) => !isNull((job as Partial<StateJob>)[property]));

/** What to read of a new job: null for the usual value. */
const readerOfNew = ({ property, usually, inserted }: AnyColumn): RowsColumn<NewJob>["read"] => {
  if (typeof inserted === "function") return inserted;
  const name = property as keyof InsertedProperties;
  if (usually === undefined) return name;
  const usual = "sameAs" in usually ? undefined : usually.value;
  const sameAs = "sameAs" in usually ? (usually.sameAs as keyof InsertedProperties) : undefined;
  return (job) => {
    const value = job[name] ?? null;
    return value === (sameAs === undefined ? usual : job[sameAs]) ? null : value;
  };
};

/** The columns that have a value in a new job, the id first; `rare`: with the rarely inserted ones. */
export const insertedColumns = (idType: string, rare: boolean): RowsColumn<NewJob>[] =>
  insertable(rare).map((column) => ({
    name: column.column,
    type: column.type === "id" ? idType : column.type,
    required: column.inserted === "once",
    read: readerOfNew(column),
  }));

/** The stored values of these columns, for a statement in which they and `created_at` are visible. */
export const insertedValues = (rare: boolean): Readonly<Record<string, string>> =>
  Object.fromEntries(
    insertable(rare).map((column) => {
      const usual = usualSql(column);
      return [column.column, usual === undefined ? column.column : `coalesce(${column.column}, ${usual})`];
    }),
  );

type MutableJob = { -readonly [TProperty in keyof StateJob]: StateJob[TProperty] };

/** A job with only usual values. The properties of which every job has its own value are missing. */
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

/** Readers of values that are not null, by the name under which they are selected. */
const readers = new Map(
  allColumns.map(({ property, column, type, when, read }) => [
    when?.as ?? column,
    { property, read: read ?? readersByType[type] },
  ]),
);
// `readJob` reads these by name.
for (const name of ["id", "input", "created_at", "attempt", "max_attempts"]) readers.delete(name);

/**
 * Runs for every claimed job, so it is written for speed. Most columns are null. To copy a whole object, set properties by
 * name and walk over the row once is faster than to read every column by a name from the table.
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
    // As `sameAs` in the table.
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
    // The type of `columns` guarantees that a reader returns the type of its property.
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

/** The select list of a claimed job, without values that follow from the claim and values that no running job has. */
export const claimedColumns = (table: string, withLimits: boolean): string =>
  jobColumns(table, {
    withLimits,
    without: [
      "status",
      "queue",
      "typeName",
      "leaseToken",
      "leasedBy",
      "deployment",
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

/** `leaseMs` is for jobs without their own. */
type ClaimTerms = Pick<ClaimCall, "workerId" | "leaseToken" | "leaseMs" | "deployment">;

/** Reads claimed jobs of one queue and type. */
export const createClaimedJobReader = (
  { queue, typeName }: { readonly queue: string; readonly typeName: string },
  { workerId, leaseToken, deployment = null, leaseMs }: ClaimTerms,
): ((row: SqlRow) => StateJob) => {
  const known: StateJob = {
    ...usualJob,
    queue,
    typeName,
    status: "running",
    leaseToken,
    leasedBy: workerId,
    deployment,
  };
  return (row) => {
    const job = readJob(row, known);
    job.leasedUntil = Number(job.lastAttemptAt) + (job.leaseMs ?? leaseMs);
    return job;
  };
};

/** The select list of some properties of jobs, and its reader. */
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
