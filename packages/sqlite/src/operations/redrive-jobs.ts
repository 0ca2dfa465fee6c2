import { redriveJobs, type RedriveResult, runSync, type StateJob } from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import { jobColumns, queryJobs } from "../job-columns.ts";
import type { Tables } from "../tables.ts";
import type { Blockers } from "./add-job-blockers.ts";
import type { Sequences } from "./get-jobs.ts";

/** `from` is the earliest that they may run. */
export type RedriveJobs = (db: SqliteConnection, jobIds: readonly string[], from: number) => RedriveResult[];

export const prepareRedriveJobs = (
  { job, blocker, liveKeyIndex }: Tables,
  sequences: Sequences,
  blockers: Blockers,
): RedriveJobs => {
  const findOtherLive = `SELECT 1 FROM ${job} AS f CROSS JOIN ${job} AS j INDEXED BY ${liveKeyIndex}
    WHERE f.id = ? AND j.deduplication_live = 1 AND j.sequence_type_name = f.sequence_type_name
      AND j.deduplication_key = f.deduplication_key AND j.id <> f.id LIMIT 1`;
  const revive = `UPDATE ${job} SET status = CASE WHEN open_blockers > 0 THEN 'blocked' ELSE 'pending' END,
      scheduled_at = max(scheduled_at, ?), attempt = 0, expired_leases = 0, failed_at = NULL, failure_reason = NULL,
      failed_blocker_id = NULL
    WHERE id = ?`;
  const failedByBlocker = `SELECT DISTINCT ${jobColumns("j")} FROM ${blocker} AS b CROSS JOIN ${job} AS j ON j.id = b.job_id
    WHERE b.sequence_id = ? AND j.failure_reason = 'blocker_failed' ORDER BY j.seq`;

  const findAll = (db: SqliteConnection, jobIds: readonly string[]): Map<string, StateJob> => {
    const found = sequences.findMany(db, jobIds).filter((row) => row !== undefined);
    return new Map(found.map((row) => [row.id, row]));
  };

  return (db, jobIds, from) => {
    const walk = redriveJobs<StateJob>(
      {
        find: (ids) => findAll(db, ids),
        isAlone: () => false,
        hasFailedBlocker: ({ id }) => blockers.hasFailed(db, id),
        hasLiveDuplicate: ({ sequenceId }) => db.first(findOtherLive, [sequenceId]) !== undefined,
        waitsForItself: ({ id, sequenceId }) =>
          blockers.findCycle(db, sequenceId, blockers.of(db, id)) !== undefined,
        dependants: (sequenceId) => queryJobs(db, failedByBlocker, [sequenceId]),
        revive: (jobs) => {
          for (const { id, sequenceId } of jobs) {
            db.run(revive, [from, id]);
            sequences.refreshLiveness(db, sequenceId);
          }
        },
      },
      jobIds,
    );
    const decisions = runSync(walk);
    const after = sequences.findMany(db, jobIds);
    return jobIds.map((jobId, index) => ({ jobId, ...decisions.get(jobId)!, job: after[index] ?? null }));
  };
};
