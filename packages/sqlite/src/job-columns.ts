import type { FailureReason, JobReference, JobStatus, OnBlockerFailure, StateJob } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "./connection/connection.ts";

// A row travels as one JSON text: crossing from the driver into JavaScript value by value costs several times as much.
// The order of the columns here is the order of the positions in `toJob`.
const columns = [
  "id",
  "type_name",
  "sequence_id",
  "sequence_type_name",
  "sequence_index",
  "sequence_created_at",
  "root_sequence_id",
  "origin_id",
  "trace_context",
  "queue",
  "priority",
  "status",
  "input",
  "output",
  "progress",
  "created_at",
  "scheduled_at",
  "attempt",
  "max_attempts",
  "timeout_ms",
  "lease_ms",
  "lease_token",
  "lease_version",
  "leased_by",
  "leased_until",
  "expired_leases",
  "last_attempt_at",
  "last_error",
  "completed_at",
  "completed_by",
  "continued_to_id",
  "failed_at",
  "failure_reason",
  "failed_blocker_id",
  "deduplication_key",
  "on_blocker_failure",
  "blocker_count",
  "open_blockers",
  "last_failed_at",
  "max_attempts_given",
] as const;

const toJob = (values: readonly unknown[]): StateJob => ({
  id: values[0] as string,
  typeName: values[1] as string,
  sequenceId: values[2] as string,
  sequenceTypeName: values[3] as string,
  sequenceIndex: values[4] as number,
  sequenceCreatedAt: values[5] as number,
  rootSequenceId: values[6] as string,
  originId: values[7] as string | null,
  traceContext: values[8] as string | null,
  queue: values[9] as string,
  priority: values[10] as number,
  status: values[11] as JobStatus,
  input: values[12] as string,
  output: values[13] as string | null,
  progress: values[14] as string | null,
  createdAt: values[15] as number,
  scheduledAt: values[16] as number,
  attempt: values[17] as number,
  maxAttempts: values[18] as number,
  maxAttemptsGiven: values[39] !== 0,
  timeoutMs: values[19] as number | null,
  leaseMs: values[20] as number | null,
  leaseToken: values[21] as string | null,
  leaseVersion: values[22] as number,
  leasedBy: values[23] as string | null,
  leasedUntil: values[24] as number | null,
  expiredLeases: values[25] as number,
  lastAttemptAt: values[26] as number | null,
  lastError: values[27] as string | null,
  lastFailedAt: values[38] as number | null,
  completedAt: values[28] as number | null,
  completedBy: values[29] as string | null,
  continuedToId: values[30] as string | null,
  failedAt: values[31] as number | null,
  failureReason: values[32] as FailureReason | null,
  failedBlockerId: values[33] as string | null,
  deduplicationKey: values[34] as string | null,
  onBlockerFailure: values[35] as OnBlockerFailure,
  blockerCount: values[36] as number,
  openBlockers: values[37] as number,
});

// Of a claimed job, what has its usual value or repeats another column stands as null in the text. The order is again
// that of the positions, in `toClaimedJob`.
const claimedColumns: readonly (readonly [column: string, usually?: string])[] = [
  ["id"],
  ["type_name"],
  ["input"],
  ["created_at"],
  ["attempt"],
  ["max_attempts"],
  ["sequence_id", "id"],
  ["sequence_type_name", "type_name"],
  ["sequence_index", "0"],
  ["sequence_created_at", "created_at"],
  ["root_sequence_id", "id"],
  ["origin_id"],
  ["trace_context"],
  ["priority", "0"],
  ["progress"],
  ["scheduled_at", "created_at"],
  ["timeout_ms"],
  ["lease_ms"],
  ["lease_version", "attempt"],
  ["expired_leases", "0"],
  ["last_error"],
  ["deduplication_key"],
  ["on_blocker_failure", "'fail'"],
  ["blocker_count", "0"],
  ["open_blockers", "0"],
  ["last_failed_at"],
  ["max_attempts_given"],
];

/** What the claimer knows of the jobs it has claimed. */
export interface ClaimTerms {
  readonly queue: string;
  readonly workerId: string;
  readonly leaseToken: string;
  /** Of jobs that do not have their own. */
  readonly leaseMs: number;
  readonly now: number;
}

const toClaimedJob = (
  values: readonly unknown[],
  { queue, workerId, leaseToken, leaseMs, now }: ClaimTerms,
): StateJob => {
  const id = values[0] as string;
  const typeName = values[1] as string;
  const createdAt = values[3] as number;
  const attempt = values[4] as number;
  const ownLeaseMs = values[17] as number | null;
  return {
    id,
    typeName,
    sequenceId: (values[6] as string | null) ?? id,
    sequenceTypeName: (values[7] as string | null) ?? typeName,
    sequenceIndex: (values[8] as number | null) ?? 0,
    sequenceCreatedAt: (values[9] as number | null) ?? createdAt,
    rootSequenceId: (values[10] as string | null) ?? id,
    originId: values[11] as string | null,
    traceContext: values[12] as string | null,
    queue,
    priority: (values[13] as number | null) ?? 0,
    status: "running",
    input: values[2] as string,
    output: null,
    progress: values[14] as string | null,
    createdAt,
    scheduledAt: (values[15] as number | null) ?? createdAt,
    attempt,
    maxAttempts: values[5] as number,
    maxAttemptsGiven: values[26] !== 0,
    timeoutMs: values[16] as number | null,
    leaseMs: ownLeaseMs,
    leaseToken,
    leaseVersion: (values[18] as number | null) ?? attempt,
    leasedBy: workerId,
    leasedUntil: now + (ownLeaseMs ?? leaseMs),
    expiredLeases: (values[19] as number | null) ?? 0,
    lastAttemptAt: now,
    lastError: values[20] as string | null,
    lastFailedAt: values[25] as number | null,
    completedAt: null,
    completedBy: null,
    continuedToId: null,
    failedAt: null,
    failureReason: null,
    failedBlockerId: null,
    deduplicationKey: values[21] as string | null,
    onBlockerFailure: (values[22] as OnBlockerFailure | null) ?? "fail",
    blockerCount: (values[23] as number | null) ?? 0,
    openBlockers: (values[24] as number | null) ?? 0,
  };
};

/** What to select for `parseClaimedJobs`, from a table of jobs under this alias. */
export const claimedJobsColumn = (alias: string): string => {
  const ofJob = (value: string): string => (/^[a-z]/.test(value) ? `${alias}.${value}` : value);
  const values = claimedColumns.map(([column, usually]) =>
    usually === undefined ? ofJob(column) : `nullif(${ofJob(column)}, ${ofJob(usually)})`,
  );
  return `json_group_array(json_array(${values.join(", ")}))`;
};

export const parseClaimedJobs = (text: unknown, terms: ClaimTerms): StateJob[] =>
  (JSON.parse(text as string) as unknown[][]).map((values) => toClaimedJob(values, terms));

/** What to select for `queryJobs`, from a table of jobs under this alias. */
export const jobColumns = (alias: string): string =>
  `json_array(${columns.map((column) => `${alias}.${column}`).join(", ")})`;

export const parseJob = (text: unknown): StateJob => toJob(JSON.parse(text as string) as unknown[]);

/** For statements that select `jobColumns` and nothing else. */
export const queryJobs = (db: SqliteConnection, sql: string, values: readonly SqliteValue[]): StateJob[] => {
  const jobs: StateJob[] = [];
  for (const row of db.query(sql, values)) jobs.push(parseJob(row[0]));
  return jobs;
};

export const findJob = (
  db: SqliteConnection,
  sql: string,
  values: readonly SqliteValue[],
): StateJob | undefined => {
  const row = db.first(sql, values);
  return row === undefined ? undefined : parseJob(row[0]);
};

export const referenceColumns = (alias: string): string =>
  ["id", "type_name", "queue", "sequence_id", "sequence_type_name", "root_sequence_id"]
    .map((column) => `${alias}.${column}`)
    .join(", ");

/** For rows that begin with `referenceColumns`. */
export const toReference = (row: readonly unknown[]): JobReference => ({
  id: row[0] as string,
  typeName: row[1] as string,
  queue: row[2] as string,
  sequenceId: row[3] as string,
  sequenceTypeName: row[4] as string,
  rootSequenceId: row[5] as string,
});
