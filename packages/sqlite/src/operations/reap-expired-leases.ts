import {
  expiredAttempt,
  hasAttemptsLeft,
  type ReapCall,
  type ReapedJob,
  type StateJob,
} from "leasehold/adapter";
import type { Attempts } from "../attempts.ts";
import type { SqliteConnection } from "../connection/connection.ts";
import type { Deduplication } from "../deduplication.ts";
import type { Dependants } from "../dependants.ts";
import type { Lines } from "../flow/lines.ts";
import type { Operation } from "../operation.ts";
import { endExpiredLease, type RequeueExpired } from "../requeue-expired.ts";
import type { TidyLines } from "../flow/tidy-lines.ts";
import type { Runnable } from "../runnable.ts";
import type { Tables } from "../tables.ts";
import type { JobLookup } from "./get-jobs.ts";

export const prepareReapExpiredLeases = (
  { job }: Tables,
  runnable: Runnable,
  lookup: JobLookup,
  dependants: Dependants,
  deduplication: Deduplication,
  lines: Lines,
  requeueExpired: RequeueExpired,
  tidyLines: TidyLines,
  attempts: Attempts,
): Operation<"reapExpiredLeases"> => {
  const fail = `UPDATE ${job}
    SET status = 'failed', failed_at = ?, failure_reason = 'attempts_exhausted', last_error = ?, fingerprint = ?,
      ${endExpiredLease}
    WHERE id = ?`;

  const reap = (db: SqliteConnection, expired: StateJob, call: ReapCall, now: number): ReapedJob => {
    const { id, sequenceId, leasedBy } = expired;
    let cascaded: ReapedJob["cascaded"] = [];
    const areLinesUsed = lines.areUsed(db);
    if (areLinesUsed) lines.leave(db, [id]);
    if (hasAttemptsLeft(expired, call.maxAttempts)) {
      requeueExpired(db, [id]);
      if (areLinesUsed) lines.enter(db, [id], now);
    } else {
      db.run(fail, [now, call.error, call.fingerprint ?? null, id]);
      if (areLinesUsed) lines.stop(db, expired);
      deduplication.refresh(db, sequenceId);
      cascaded = dependants.failDependants(db, sequenceId, now);
    }
    attempts.add(db, expiredAttempt(expired, call));
    return { job: lookup.find(db, id) ?? expired, previouslyLeasedBy: leasedBy, cascaded };
  };

  return (db, call, now) => {
    const reaped = runnable.expired(db, call.limit, now).map((expired) => reap(db, expired, call, now));
    if (lines.areUsed(db)) tidyLines(db, now);
    return reaped;
  };
};
