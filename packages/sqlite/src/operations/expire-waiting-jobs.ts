import { expired } from "leasehold/adapter";
import type { Deduplication } from "../deduplication.ts";
import type { Dependants } from "../dependants.ts";
import type { Lines } from "../flow/lines.ts";
import { jobColumns, queryJobs } from "../job-columns.ts";
import type { Operation } from "../operation.ts";
import type { Tables } from "../tables.ts";

export const prepareExpireWaitingJobs = (
  { job, expiringIndex }: Tables,
  dependants: Dependants,
  deduplication: Deduplication,
  lines: Lines,
): Operation<"expireWaitingJobs"> => {
  const find = `SELECT ${jobColumns("j")} FROM ${job} AS j INDEXED BY ${expiringIndex}
    WHERE j.expire_after_ms IS NOT NULL AND j.status = 'pending' AND j.attempt = 0
      AND j.scheduled_at + j.expire_after_ms <= ?
    ORDER BY j.scheduled_at + j.expire_after_ms LIMIT ?`;
  const fail = `UPDATE ${job} SET status = 'failed', failed_at = ?, failure_reason = 'expired', last_error = ?
    WHERE id = ?`;

  return (db, { limit, error }, now) =>
    queryJobs(db, find, [now, limit]).map((row) => {
      if (lines.areUsed(db)) lines.leave(db, [row.id]);
      db.run(fail, [now, error, row.id]);
      deduplication.refresh(db, row.sequenceId);
      const cascaded = dependants.failDependants(db, row.sequenceId, now);
      return { job: expired(row, error, now), cascaded };
    });
};
