import { type CancelResult, isTerminal, judgeCancellation, type StateJob } from "leasehold/adapter";
import { arrayLiteral } from "../sql/array-literal.ts";
import { nowSql } from "../sql/clock.ts";
import type { Call, Database } from "../database.ts";
import { jobColumns, toStateJob } from "../job-columns.ts";
import type { Tables } from "../tables.ts";
import { lockCurrentJobs } from "../lock-current-jobs.ts";
import type { LockedJob } from "../lock-jobs.ts";
import { spreadEnds } from "../dependants.ts";

// The token goes with the lease: what the holder reports later is refused, not taken for a repetition.
const cancelSql = ({ job, idType }: Tables): string => `
UPDATE ${job} AS j SET
  status = 'failed',
  ready = false,
  finished_at = ${nowSql("$1")},
  failure_reason = 'cancelled',
  last_error = $3,
  lease_token = NULL,
  leased_by = NULL,
  key_open = CASE WHEN j.key_open THEN false ELSE j.key_open END
WHERE id = ANY ($2::${idType}[])
RETURNING ${jobColumns("j")}`;

const withoutMark = ({ watched: _watched, ...job }: LockedJob): StateJob => job;

const unchanged = (sequenceId: string, job: LockedJob | undefined): CancelResult =>
  judgeCancellation(sequenceId, job && withoutMark(job))!;

export const cancelSequences = (
  database: Database,
  call: Call & { readonly sequenceIds: readonly string[]; readonly error: string },
): Promise<CancelResult[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const current = await lockCurrentJobs(database, ctx, call.sequenceIds);
    const open = [...current.values()].filter(({ status }) => !isTerminal(status));
    if (open.length === 0) return call.sequenceIds.map((id) => unchanged(id, current.get(id)));

    const rows = await database.query(ctx, {
      name: "cancel",
      sql: cancelSql,
      params: [call.now ?? null, arrayLiteral(open.map(({ id }) => id)), call.error],
    });
    const cancelled = new Map(rows.map(toStateJob).map((job) => [job.sequenceId, job]));
    const [any] = cancelled.values();
    const failed = open.map((job) => ({ ...job, lastError: call.error }));
    const ends = await spreadEnds(database, { ctx, now: any!.failedAt! }, { completed: [], failed });
    const told = new Set<string>();
    return call.sequenceIds.map((sequenceId) => {
      const job = cancelled.get(sequenceId);
      if (job === undefined) return unchanged(sequenceId, current.get(sequenceId));
      const again = told.has(sequenceId);
      told.add(sequenceId);
      return {
        sequenceId,
        kind: "cancelled",
        job,
        changed: !again,
        wasRunning: !again && current.get(sequenceId)?.status === "running",
        cascaded: again ? [] : (ends.get(sequenceId)?.cascaded ?? []),
      };
    });
  });
