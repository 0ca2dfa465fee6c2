import type { LeaseState } from "leasehold/adapter";
import type { SqliteConnection } from "./connection/connection.ts";
import { type Columns, defineRow } from "./row.ts";
import type { Tables } from "./tables.ts";

/** The lease of the job under the alias `j`. */
export const describeLease = (columns: Columns): LeaseState => ({
  status: columns.value("j.status"),
  leaseToken: columns.value("j.lease_token", null),
  leasedUntil: columns.value("j.leased_until", null),
  failureReason: columns.value("j.failure_reason", null),
});

const leaseRow = defineRow((columns) => ({
  index: columns.value<number>("given.key"),
  state: describeLease(columns),
}));

/** The leases of these jobs, in the same order; undefined for jobs that do not exist. */
export type ReadLeases = (db: SqliteConnection, jobIds: readonly string[]) => (LeaseState | undefined)[];

export const prepareReadLeases = ({ job }: Tables): ReadLeases => {
  const findLeases = `SELECT ${leaseRow.columns} FROM json_each(?) AS given CROSS JOIN ${job} AS j ON j.id = given.value`;
  return (db, jobIds) => {
    const leases = Array.from<LeaseState | undefined>({ length: jobIds.length });
    for (const { index, state } of leaseRow.all(db, findLeases, [JSON.stringify(jobIds)]))
      leases[index] = state;
    return leases;
  };
};
