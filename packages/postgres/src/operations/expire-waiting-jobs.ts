import type { ExpireCall, ExpiredJob } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { settleDependants } from "../dependants.ts";
import { leaveNotes } from "../flow/notes.ts";
import { mayFind } from "../may-find.ts";
import { asStateJob, type LockedJob, lockedColumns, toLockedJob } from "../lock-jobs.ts";
import { clockCte, now } from "../sql/clock.ts";
import type { Tables } from "../tables.ts";

// The conditions are those of the index job_expiring, which has nothing but jobs that can expire.
const canExpire = "j.expire_after_ms IS NOT NULL AND j.status = 'pending' AND j.attempt = 0";
const expiresAt = "j.scheduled_at + j.expire_after_ms";

const firstLateSql = ({ job }: Tables): string => `
WITH ${clockCte("$1")}
SELECT (SELECT ${expiresAt} FROM ${job} AS j WHERE ${canExpire} ORDER BY ${expiresAt} LIMIT 1) <= ${now} AS found`;

const expireSql = ({ job }: Tables): string => `
WITH ${clockCte("$1")},
late AS MATERIALIZED (
  SELECT j.id FROM ${job} AS j WHERE ${canExpire} AND ${expiresAt} <= ${now}
  ORDER BY ${expiresAt} LIMIT $2::int FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE ${job} AS j SET
  status = 'failed',
  ready = false,
  finished_at = ${now},
  failure_reason = 'expired',
  last_error = $3,
  fingerprint = NULL,
  key_open = CASE WHEN j.key_open THEN false ELSE j.key_open END
FROM late WHERE j.id = late.id
RETURNING ${lockedColumns("j")}, ${now} AS now`;

const expiryOf = ({ scheduledAt, expireAfterMs }: LockedJob): number => scheduledAt + expireAfterMs!;

export const expireWaitingJobs = async (database: Database, call: Call & ExpireCall): Promise<ExpiredJob[]> =>
  (await mayFind(database, call, "late", firstLateSql)) ? expire(database, call) : [];

const expire = (database: Database, call: Call & ExpireCall): Promise<ExpiredJob[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const rows = await database.query(ctx, {
      name: "expire_waiting",
      sql: expireSql,
      params: [call.now ?? null, call.limit, call.error],
    });
    // Somebody else may have been quicker.
    if (rows.length === 0) return [];
    const failed = rows.map(toLockedJob).sort((a, b) => expiryOf(a) - expiryOf(b));
    await leaveNotes(
      database,
      ctx,
      failed.map((job) => ({ job })),
    );
    const transaction = { ctx, now: Number(rows[0]?.["now"]) };
    const consequences = await settleDependants(database, transaction, { completed: [], failed });
    return failed.map((job) => ({
      job: asStateJob(job),
      cascaded: consequences.get(job.sequenceId)?.cascaded ?? [],
    }));
  });
