import { type JobReference, type RedriveResult, referenceTo, type StateJob } from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import { jobColumns, queryJobs } from "../job-columns.ts";
import type { Tables } from "../tables.ts";
import type { Blockers } from "./add-job-blockers.ts";
import type { Sequences } from "./get-jobs.ts";

type Decision = Pick<RedriveResult, "kind" | "revived">;

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
  const takenAlong = `SELECT DISTINCT ${jobColumns("j")} FROM ${blocker} AS b CROSS JOIN ${job} AS j ON j.id = b.job_id
    WHERE b.sequence_id = ? AND j.failure_reason = 'blocker_failed' ORDER BY j.seq`;

  const hasLiveDuplicate = (db: SqliteConnection, { sequenceId }: StateJob): boolean =>
    db.first(findOtherLive, [sequenceId]) !== undefined;

  /** Since it failed, a sequence it waits for may have come to wait for its own. */
  const wouldWaitForItself = (db: SqliteConnection, { id, sequenceId, openBlockers }: StateJob): boolean =>
    openBlockers > 0 && blockers.findCycle(db, sequenceId, blockers.of(db, id)) !== undefined;

  const bringBack = (db: SqliteConnection, { id, sequenceId }: StateJob, from: number): void => {
    db.run(revive, [from, id]);
    sequences.refreshLiveness(db, sequenceId);
  };

  /** The sequence is alive again: so are the jobs that only its failure had taken along, and theirs. */
  const reviveDependants = (db: SqliteConnection, sequenceId: string, from: number): JobReference[] => {
    const references: JobReference[] = [];
    const revivedSequenceIds = [sequenceId];
    for (const revivedSequenceId of revivedSequenceIds) {
      for (const dependant of queryJobs(db, takenAlong, [revivedSequenceId])) {
        if (blockers.hasFailed(db, dependant.id) || hasLiveDuplicate(db, dependant)) continue;
        if (wouldWaitForItself(db, dependant)) continue;
        bringBack(db, dependant, from);
        references.push(referenceTo(dependant));
        revivedSequenceIds.push(dependant.sequenceId);
      }
    }
    return references;
  };

  const redrive = (db: SqliteConnection, failed: StateJob, from: number): Decision => {
    if (hasLiveDuplicate(db, failed)) return { kind: "duplicate_live", revived: [] };
    if (wouldWaitForItself(db, failed)) return { kind: "blocker_cycle", revived: [] };
    bringBack(db, failed, from);
    return { kind: "redriven", revived: reviveDependants(db, failed.sequenceId, from) };
  };

  return (db, jobIds, from) => {
    const decided = new Map<string, Decision>();
    let undecided: string[] = [];
    for (const jobId of new Set(jobIds)) {
      const status = sequences.find(db, jobId)?.status;
      if (status === undefined) decided.set(jobId, { kind: "not_found", revived: [] });
      else if (status !== "failed") decided.set(jobId, { kind: "not_failed", revived: [] });
      else undecided.push(jobId);
    }

    // Rounds, so that a job named together with its blocker is revived whichever of the two comes first.
    for (let before = -1; before !== undecided.length;) {
      before = undecided.length;
      undecided = undecided.filter((jobId) => {
        const found = sequences.find(db, jobId);
        // Alive by now: another job of this call brought it back.
        if (found?.status !== "failed") decided.set(jobId, { kind: "redriven", revived: [] });
        // A job that waits whatever becomes of its blockers can wait again.
        else if (found.onBlockerFailure === "fail" && blockers.hasFailed(db, jobId)) return true;
        else decided.set(jobId, redrive(db, found, from));
        return false;
      });
    }

    const after = sequences.findMany(db, jobIds);
    return jobIds.map((jobId, index) => ({
      jobId,
      ...(decided.get(jobId) ?? { kind: "blocker_failed", revived: [] }),
      job: after[index] ?? null,
    }));
  };
};
