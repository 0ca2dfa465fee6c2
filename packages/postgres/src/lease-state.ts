import type { FailureReason, JobStatus, LeaseState } from "leasehold/adapter";
import type { SqlRow } from "./provider.ts";

/** The columns of a job that decide about its lease, as `toLeaseState` reads them. */
export const leaseColumns = (table: string): string =>
  ["status", "lease_token", "due_at", "failure_reason"].map((column) => `${table}.${column}`).join(", ");

/** Undefined for a job that does not exist: an outer join has found nothing. */
export const toLeaseState = (row: SqlRow): LeaseState | undefined => {
  const status = row["status"] as JobStatus | null;
  if (status === null) return undefined;
  return {
    status,
    leaseToken: row["lease_token"] as string | null,
    leasedUntil: status === "running" ? Number(row["due_at"]) : null,
    failureReason: row["failure_reason"] as FailureReason | null,
  };
};
