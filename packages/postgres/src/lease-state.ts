import type { LeaseState } from "leasehold/adapter";
import { pickColumns } from "./job-rows.ts";
import type { SqlRow } from "./provider.ts";
import { isNull } from "./sql/row-values.ts";

const columns = pickColumns("status", "leaseToken", "leasedUntil", "failureReason");

/** The columns of a job that decide about its lease, as `toLeaseState` reads them. */
export const leaseColumns = (table: string): string => columns.select(table);

/** Undefined for a job that does not exist: an outer join has found nothing. */
export const toLeaseState = (row: SqlRow): LeaseState | undefined =>
  isNull(row["status"]) ? undefined : columns.read(row);
