import { redriveJobs, resolveSchedule, runSync, type StateJob } from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import type { Tables } from "../database/tables.ts";
import type { GroupQueues } from "../limits/group-queues.ts";
import { jobColumns, type JobLookup, queryJobs } from "../rows/job-table.ts";
import type { Blockers } from "./blockers.ts";
import type { Deduplication } from "./deduplication.ts";

export const prepareRedriveJobs = (
  tables: Tables,
  lookup: JobLookup,
  blockers: Blockers,
  deduplication: Deduplication,
  groupQueues: GroupQueues,
): Operation<"redriveJobs"> => {
  const { job, blocker } = tables;
  const revive = `UPDATE ${job} SET status = CASE WHEN open_blockers > 0 THEN 'blocked' ELSE 'pending' END,
      scheduled_at = max(scheduled_at, ?), attempt = 0, expired_leases = 0, failed_at = NULL, failure_reason = NULL,
      failed_blocker_id = NULL, fingerprint = NULL
    WHERE id = ?`;
  const findDependants = `SELECT DISTINCT ${jobColumns(tables, "j")} FROM ${blocker} AS b CROSS JOIN ${job} AS j ON j.id = b.job_id
    WHERE b.sequence_id = ? ORDER BY j.seq`;

  const findAll = (db: SqliteConnection, jobIds: readonly string[]): Map<string, StateJob> => {
    const found = lookup.getJobs(db, jobIds).filter((row) => row !== undefined);
    return new Map(found.map((row) => [row.id, row]));
  };

  return (db, { jobIds, schedule = { afterMs: 0 } }, now) => {
    const from = resolveSchedule(schedule, now);
    const walk = redriveJobs<StateJob>(
      {
        find: (ids) => findAll(db, ids),
        isAlone: () => false,
        hasFailedBlocker: ({ id }) => blockers.hasFailed(db, id),
        hasLiveDuplicate: ({ sequenceId }) => deduplication.hasLiveDuplicate(db, sequenceId),
        waitsForItself: ({ id, sequenceId }) =>
          blockers.findCycle(db, sequenceId, blockers.of(db, id)) !== undefined,
        dependants: (sequenceId) => queryJobs(db, findDependants, [sequenceId]),
        revive: (jobs) => {
          for (const { id, sequenceId } of jobs) {
            db.run(revive, [from, id]);
            deduplication.refresh(db, sequenceId);
          }
          if (!groupQueues.areUsed(db)) return;
          for (const revived of jobs)
            if (revived.ordered === "stop") groupQueues.resume(db, revived, revived.id);
          groupQueues.enter(
            db,
            jobs.map(({ id }) => id),
            now,
          );
        },
      },
      jobIds,
    );
    const decisions = runSync(walk);

    const after = lookup.getJobs(db, jobIds);
    return jobIds.map((jobId, index) => ({ jobId, ...decisions.get(jobId)!, job: after[index] ?? null }));
  };
};
