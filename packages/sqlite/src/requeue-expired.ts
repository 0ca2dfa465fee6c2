import type { SqliteConnection } from "./connection/connection.ts";
import type { Tables } from "./tables.ts";

/** These jobs, whose leases have expired, wait again. */
export type RequeueExpired = (db: SqliteConnection, jobIds: readonly string[]) => void;

/** Takes the token away: when the holder's own outcome arrives late, it is refused and not taken for a repetition. */
export const endExpiredLease =
  "expired_leases = expired_leases + 1, last_failed_at = leased_until, lease_token = NULL, leased_by = NULL, leased_until = NULL";

export const prepareRequeueExpired = ({ job }: Tables): RequeueExpired => {
  const requeue = `UPDATE ${job} SET status = 'pending', scheduled_at = leased_until, ${endExpiredLease}
    WHERE id IN (SELECT value FROM json_each(?))`;
  return (db, jobIds) => void db.run(requeue, [JSON.stringify(jobIds)]);
};
