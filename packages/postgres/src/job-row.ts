import type { FailureReason, JobStatus, StateJob } from "leasehold/adapter";
import type { SqlRow } from "./provider.ts";

const plainColumns = [
  "id",
  "origin_id",
  "continued_to_id",
  "failed_blocker_id",
  "created_at",
  "scheduled_at",
  "due_at",
  "last_attempt_at",
  "finished_at",
  "timeout_ms",
  "lease_ms",
  "sequence_index",
  "priority",
  "attempt",
  "max_attempts",
  "lease_version",
  "expired_leases",
  "blocker_count",
  "open_blockers",
  "status",
  "queue",
  "type_name",
  "lease_token",
  "leased_by",
  "completed_by",
  "failure_reason",
  "deduplication_key",
  "trace_context",
  "input",
  "output",
  "progress",
  "last_error",
] as const;

// What mostly repeats another column travels as null: a null costs the driver next to nothing.
const repeatingColumns = {
  sequence_id: "id",
  root_sequence_id: "id",
  sequence_created_at: "created_at",
  sequence_type_name: "type_name",
} as const;

/** The columns of a whole job, of the table or alias given, as `toStateJob` reads them. */
export const jobColumns = (table: string, without: readonly string[] = []): string =>
  [
    ...plainColumns.filter((column) => !without.includes(column)).map((column) => `${table}.${column}`),
    ...Object.entries(repeatingColumns).map(
      ([column, other]) => `nullif(${table}.${column}, ${table}.${other}) AS ${column}`,
    ),
    // The one column whose value has two possible readings.
    `nullif(${table}.waits_regardless, false) AS waits_regardless`,
  ].join(", ");

const text = (value: unknown): string | null => (value as string | null | undefined) ?? null;
// Drivers return 64-bit integers as text, as number or as bigint.
const number = (value: unknown): number | null =>
  value === null || value === undefined ? null : Number(value);

export const toStateJob = (row: SqlRow): StateJob =>
  readJob(row, row["status"] as JobStatus, text(row["lease_token"]), text(row["leased_by"]));

// What the claimer knows, and what no running job has.
const knownOfClaimed = [
  "status",
  "lease_token",
  "leased_by",
  "continued_to_id",
  "failed_blocker_id",
  "finished_at",
  "completed_by",
  "failure_reason",
  "output",
];

/** The columns of a job that has just been claimed, as `toClaimedJob` reads them. */
export const claimedColumns = (table: string): string => jobColumns(table, knownOfClaimed);

export const toClaimedJob = (row: SqlRow, leaseToken: string, leasedBy: string): StateJob =>
  readJob(row, "running", leaseToken, leasedBy);

const readJob = (
  row: SqlRow,
  status: JobStatus,
  leaseToken: string | null,
  leasedBy: string | null,
): StateJob => {
  const id = row["id"] as string;
  const typeName = row["type_name"] as string;
  const createdAt = Number(row["created_at"]);
  const finishedAt = number(row["finished_at"]);
  return {
    id,
    typeName,
    sequenceId: text(row["sequence_id"]) ?? id,
    sequenceTypeName: text(row["sequence_type_name"]) ?? typeName,
    sequenceIndex: Number(row["sequence_index"]),
    sequenceCreatedAt: number(row["sequence_created_at"]) ?? createdAt,
    rootSequenceId: text(row["root_sequence_id"]) ?? id,
    originId: text(row["origin_id"]),
    traceContext: text(row["trace_context"]),
    queue: row["queue"] as string,
    priority: Number(row["priority"]),
    status,
    input: row["input"] as string,
    output: text(row["output"]),
    progress: text(row["progress"]),
    createdAt,
    scheduledAt: Number(row["scheduled_at"]),
    attempt: Number(row["attempt"]),
    maxAttempts: Number(row["max_attempts"]),
    timeoutMs: number(row["timeout_ms"]),
    leaseMs: number(row["lease_ms"]),
    leaseToken,
    leaseVersion: Number(row["lease_version"]),
    leasedBy,
    leasedUntil: status === "running" ? number(row["due_at"]) : null,
    expiredLeases: Number(row["expired_leases"]),
    lastAttemptAt: number(row["last_attempt_at"]),
    lastError: text(row["last_error"]),
    completedAt: status === "completed" ? finishedAt : null,
    completedBy: text(row["completed_by"]),
    continuedToId: text(row["continued_to_id"]),
    failedAt: status === "failed" ? finishedAt : null,
    failureReason: text(row["failure_reason"]) as FailureReason | null,
    failedBlockerId: text(row["failed_blocker_id"]),
    deduplicationKey: text(row["deduplication_key"]),
    onBlockerFailure: row["waits_regardless"] === true ? "wait" : "fail",
    blockerCount: Number(row["blocker_count"]),
    openBlockers: Number(row["open_blockers"]),
  };
};
