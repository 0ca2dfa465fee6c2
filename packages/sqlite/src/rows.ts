import type { FailureReason, JobReference, JobStatus, OnBlockerFailure, StateJob } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "./connection.ts";

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
  timeoutMs: values[19] as number | null,
  leaseMs: values[20] as number | null,
  leaseToken: values[21] as string | null,
  leaseVersion: values[22] as number,
  leasedBy: values[23] as string | null,
  leasedUntil: values[24] as number | null,
  expiredLeases: values[25] as number,
  lastAttemptAt: values[26] as number | null,
  lastError: values[27] as string | null,
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

/** What to select for `queryJobs`, from a table of jobs under this alias. */
export const jobColumns = (alias: string): string =>
  `json_array(${columns.map((column) => `${alias}.${column}`).join(", ")})`;

export const parseJob = (text: unknown): StateJob => toJob(JSON.parse(text as string) as unknown[]);

/** For `json_group_array` of `jobColumns`. */
export const parseJobs = (text: unknown): StateJob[] =>
  (JSON.parse(text as string) as unknown[][]).map(toJob);

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
