import { hasAttemptsLeft, type ReapCall, type ReapedJob, type StateJob } from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import type { Deduplication } from "../deduplication.ts";
import type { Dependants } from "../dependants.ts";
import type { Operation } from "../operation.ts";
import type { Runnable } from "../runnable.ts";
import type { Tables } from "../tables.ts";
import type { JobLookup } from "./get-jobs.ts";

export const prepareReapExpiredLeases = (
  { job }: Tables,
  runnable: Runnable,
  lookup: JobLookup,
  dependants: Dependants,
  deduplication: Deduplication,
): Operation<"reapExpiredLeases"> => {
  // Both take the token away: when the holder's own outcome arrives late, it is refused and not taken for a repetition.
  const endLease =
    "expired_leases = expired_leases + 1, last_failed_at = leased_until, lease_token = NULL, leased_by = NULL, leased_until = NULL";
  const requeue = `UPDATE ${job} SET status = 'pending', scheduled_at = leased_until, ${endLease} WHERE id = ?`;
  const fail = `UPDATE ${job}
    SET status = 'failed', failed_at = ?, failure_reason = 'attempts_exhausted', last_error = ?, ${endLease}
    WHERE id = ?`;

  const reap = (
    db: SqliteConnection,
    expired: StateJob,
    { error, maxAttempts }: ReapCall,
    now: number,
  ): ReapedJob => {
    const { id, sequenceId, leasedBy } = expired;
    let cascaded: ReapedJob["cascaded"] = [];
    if (hasAttemptsLeft(expired, maxAttempts)) db.run(requeue, [id]);
    else {
      db.run(fail, [now, error, id]);
      deduplication.refresh(db, sequenceId);
      cascaded = dependants.failDependants(db, sequenceId, now);
    }
    return { job: lookup.find(db, id) ?? expired, previouslyLeasedBy: leasedBy, cascaded };
  };

  return (db, call, now) =>
    runnable.expired(db, call.limit, now).map((expired) => reap(db, expired, call, now));
};
