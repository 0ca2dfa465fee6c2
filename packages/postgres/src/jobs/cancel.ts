import { type CancelCall, type CancelResult, isTerminal, checkCancellation } from "leasehold/adapter";
import type { Call, Database } from "../database/database.ts";
import { arrayLiteral, clockCte, now } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { insertInterrupted } from "../history/attempts.ts";
import { insertDeltas } from "../limits/deltas.ts";
import { jobColumns, toStateJob } from "../rows/job-table.ts";
import { asStateJob, lockCurrentJobs } from "../rows/locks.ts";
import { settleDependants } from "./dependants.ts";

// The token goes with the lease: what the holder reports later is then refused. With the token still there it could be
// taken for an outcome that is reported a second time.
const cancelSql = ({ job, idType }: Tables): string => `
WITH ${clockCte("$1")}
UPDATE ${job} AS j SET
  status = 'failed',
  ready = false,
  finished_at = ${now},
  failure_reason = 'cancelled',
  last_error = $3,
  fingerprint = NULL,
  lease_token = NULL,
  leased_by = NULL,
  counted_in = NULL,
  deduplication_open = CASE WHEN j.deduplication_open THEN false ELSE j.deduplication_open END
WHERE id = ANY ($2::${idType}[])
RETURNING ${now} AS now, ${jobColumns("j")}`;

export const cancelSequences = (database: Database, call: Call & CancelCall): Promise<CancelResult[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const current = await lockCurrentJobs(database, ctx, call.sequenceIds);
    const open = [...current.values()].filter(({ status }) => !isTerminal(status));
    const params = [call.now ?? null, arrayLiteral(open.map(({ id }) => id)), call.error];
    const rows =
      open.length === 0 ? [] : await database.query(ctx, { name: "cancel", sql: cancelSql, params });
    const transaction = { ctx, now: Number(rows[0]?.["now"]) };
    await insertInterrupted(
      database,
      transaction,
      open.map((job) => ({ job, by: "cancel" })),
    );
    await insertDeltas(
      database,
      ctx,
      open.map((job) => ({ job })),
    );
    const cancelled = new Map(rows.map(toStateJob).map((job) => [job.sequenceId, job]));
    const failed = open.map((job) => ({ ...job, lastError: call.error }));
    const consequences = await settleDependants(database, transaction, { completed: [], failed });
    const seen = new Set<string>();
    return call.sequenceIds.map((sequenceId) => {
      const before = current.get(sequenceId);
      const unchanged = checkCancellation(sequenceId, before && asStateJob(before));
      if (unchanged !== undefined) return unchanged;
      const isRepeat = seen.has(sequenceId);
      seen.add(sequenceId);
      return {
        sequenceId,
        kind: "cancelled",
        job: cancelled.get(sequenceId) ?? null,
        changed: !isRepeat,
        wasRunning: !isRepeat && before?.status === "running",
        cascaded: isRepeat ? [] : (consequences.get(sequenceId)?.cascaded ?? []),
      };
    });
  });
