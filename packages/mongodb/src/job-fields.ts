import type { StateJob } from "leasehold/adapter";

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

export const jobFields: readonly (readonly [JobField, "value" | "date"])[] = Object.entries(all) as [
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
