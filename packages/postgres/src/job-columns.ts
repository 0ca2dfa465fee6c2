import type { FailureReason, JobStatus, StateJob } from "leasehold/adapter";
import type { SqlRow } from "./provider.ts";

// What has its usual value, or repeats another column, travels as null: that costs the server and the driver next to
// nothing.
const columns: Record<string, { readonly usually?: string }> = {
  id: {},
  input: {},
  created_at: {},
  attempt: {},
  max_attempts: {},
  status: {},
  queue: {},
  type_name: {},
  due_at: {},
  scheduled_at: { usually: "created_at" },
  sequence_id: { usually: "id" },
  root_sequence_id: { usually: "id" },
  sequence_created_at: { usually: "created_at" },
  sequence_type_name: { usually: "type_name" },
  sequence_index: { usually: "0" },
  priority: { usually: "0" },
  lease_version: { usually: "attempt" },
  expired_leases: { usually: "0" },
  blocker_count: { usually: "0" },
  open_blockers: { usually: "0" },
  finished_at: { usually: "0" },
  waits_regardless: { usually: "false" },
  last_attempt_at: {},
  timeout_ms: {},
  lease_ms: {},
  origin_id: {},
  continued_to_id: {},
  failed_blocker_id: {},
  lease_token: {},
  leased_by: {},
  completed_by: {},
  failure_reason: {},
  deduplication_key: {},
  trace_context: {},
  output: {},
  progress: {},
  last_error: {},
  last_failed_at: {},
  max_attempts_given: {},
};

/** The columns of a job, of the table or alias given, as `toStateJob` reads them. */
export const jobColumns = (table: string, without: readonly string[] = []): string =>
  Object.entries(columns)
    .filter(([column]) => !without.includes(column))
    .map(([column, { usually }]) => {
      if (usually === undefined) return `${table}.${column}`;
      const value = usually in columns ? `${table}.${usually}` : usually;
      return `nullif(${table}.${column}, ${value}) AS ${column}`;
    })
    .join(", ");

const text = (value: unknown): string | null => (value as string | null | undefined) ?? null;
// Drivers return 64-bit integers as text, as number or as bigint.
const number = (value: unknown): number | null =>
  value === null || value === undefined ? null : Number(value);

/** What is said about a job apart from its row. */
interface Known {
  readonly typeName: string;
  readonly queue: string;
  readonly status: JobStatus;
  readonly leaseToken: string | null;
  readonly leasedBy: string | null;
  readonly leasedUntil: number | null;
}

export const toStateJob = (row: SqlRow): StateJob => {
  const status = row["status"] as JobStatus;
  return readJob(row, {
    typeName: row["type_name"] as string,
    queue: row["queue"] as string,
    status,
    leaseToken: text(row["lease_token"]),
    leasedBy: text(row["leased_by"]),
    leasedUntil: status === "running" ? number(row["due_at"]) : null,
  });
};

// What the claimer knows, and what no running job has.
const knownOfClaimed = [
  "status",
  "queue",
  "type_name",
  "due_at",
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

export interface ClaimTerms {
  readonly workerId: string;
  readonly leaseToken: string;
  /** Of jobs that do not have their own. */
  readonly leaseMs: number;
}

export const toClaimedJob = (
  row: SqlRow,
  { queue, typeName }: { readonly queue: string; readonly typeName: string },
  { workerId, leaseToken, leaseMs }: ClaimTerms,
): StateJob =>
  readJob(row, {
    typeName,
    queue,
    status: "running",
    leaseToken,
    leasedBy: workerId,
    leasedUntil: Number(row["last_attempt_at"]) + (number(row["lease_ms"]) ?? leaseMs),
  });

const readJob = (row: SqlRow, known: Known): StateJob => {
  const { typeName, status } = known;
  const id = row["id"] as string;
  const createdAt = Number(row["created_at"]);
  const attempt = Number(row["attempt"]);
  const finishedAt = number(row["finished_at"]);
  return {
    id,
    typeName,
    sequenceId: text(row["sequence_id"]) ?? id,
    sequenceTypeName: text(row["sequence_type_name"]) ?? typeName,
    sequenceIndex: number(row["sequence_index"]) ?? 0,
    sequenceCreatedAt: number(row["sequence_created_at"]) ?? createdAt,
    rootSequenceId: text(row["root_sequence_id"]) ?? id,
    originId: text(row["origin_id"]),
    traceContext: text(row["trace_context"]),
    queue: known.queue,
    priority: number(row["priority"]) ?? 0,
    status,
    input: row["input"] as string,
    output: text(row["output"]),
    progress: text(row["progress"]),
    createdAt,
    scheduledAt: number(row["scheduled_at"]) ?? createdAt,
    attempt,
    maxAttempts: Number(row["max_attempts"]),
    maxAttemptsGiven: row["max_attempts_given"] !== false,
    timeoutMs: number(row["timeout_ms"]),
    leaseMs: number(row["lease_ms"]),
    leaseToken: known.leaseToken,
    leaseVersion: number(row["lease_version"]) ?? attempt,
    leasedBy: known.leasedBy,
    leasedUntil: known.leasedUntil,
    expiredLeases: number(row["expired_leases"]) ?? 0,
    lastAttemptAt: number(row["last_attempt_at"]),
    lastError: text(row["last_error"]),
    lastFailedAt: number(row["last_failed_at"]),
    completedAt: status === "completed" ? finishedAt : null,
    completedBy: text(row["completed_by"]),
    continuedToId: text(row["continued_to_id"]),
    failedAt: status === "failed" ? finishedAt : null,
    failureReason: text(row["failure_reason"]) as FailureReason | null,
    failedBlockerId: text(row["failed_blocker_id"]),
    deduplicationKey: text(row["deduplication_key"]),
    onBlockerFailure: row["waits_regardless"] === true ? "wait" : "fail",
    blockerCount: number(row["blocker_count"]) ?? 0,
    openBlockers: number(row["open_blockers"]) ?? 0,
  };
};
