import { blockerErrorText, type JobReference, type StateJob } from "leasehold/adapter";
import type { SqliteConnection } from "./connection/connection.ts";
import { referenceColumns, toReference } from "./job-columns.ts";
import type { Tables } from "./tables.ts";
import type { Sequences } from "./operations/get-jobs.ts";

/** What the end of one sequence does to those that wait for it. */
export interface Dependants {
  /** A sequence has completed. Returns the jobs that became pending. */
  unblockDependants(db: SqliteConnection, sequenceId: string, now: number): JobReference[];
  /** A sequence has failed. Returns the jobs that failed with it. */
  failDependants(db: SqliteConnection, sequenceId: string, now: number): JobReference[];
  /** `blocker` is the job that failed. */
  failByBlocker(db: SqliteConnection, jobId: string, blocker: StateJob, now: number): void;
}

export const createDependants = ({ job, blocker }: Tables, sequences: Sequences): Dependants => {
  // Two blockers of a job can turn out to be one sequence, by deduplication; then both are done.
  const findDependants = `SELECT ${referenceColumns("j")}, j.status, j.open_blockers, count(*), j.on_blocker_failure
    FROM ${blocker} AS b CROSS JOIN ${job} AS j ON j.id = b.job_id
    WHERE b.sequence_id = ? GROUP BY j.seq ORDER BY j.seq`;
  const setOpenBlockers = `UPDATE ${job} SET open_blockers = ? WHERE id = ?`;
  // Its place in line is behind all that could run before it.
  const unblock = `UPDATE ${job} SET open_blockers = 0, status = 'pending', scheduled_at = max(scheduled_at, ?)
    WHERE id = ?`;
  const fail = `UPDATE ${job}
    SET status = 'failed', failed_at = ?, failure_reason = 'blocker_failed', failed_blocker_id = ?, last_error = ?
    WHERE id = ?`;

  const failByBlocker: Dependants["failByBlocker"] = (db, jobId, blocker, now) =>
    void db.run(fail, [now, blocker.sequenceId, blockerErrorText(blocker), jobId]);

  return {
    failByBlocker,
    unblockDependants: (db, sequenceId, now) => {
      const unblocked: JobReference[] = [];
      for (const row of db.query(findDependants, [sequenceId])) {
        const [status, before, completed] = row.slice(6) as [string, number, number];
        const openBlockers = Math.max(0, before - completed);
        // A job that was failed or cancelled meanwhile only keeps count.
        const isUnblocked = status === "blocked" && openBlockers === 0;
        const id = row[0] as string;
        if (isUnblocked) db.run(unblock, [now, id]);
        else db.run(setOpenBlockers, [openBlockers, id]);
        if (isUnblocked) unblocked.push(toReference(row));
      }
      return unblocked;
    },
    // A list of work instead of recursion: a chain may be longer than the call stack.
    failDependants: (db, sequenceId, now) => {
      const cascaded: JobReference[] = [];
      const failedSequenceIds = [sequenceId];
      for (const failedSequenceId of failedSequenceIds) {
        const dependants = db
          .query(findDependants, [failedSequenceId])
          .filter((row) => row[6] === "blocked" && row[9] !== "wait");
        if (dependants.length === 0) continue;
        const failed = sequences.current(db, failedSequenceId)!;
        for (const row of dependants) {
          const reference = toReference(row);
          failByBlocker(db, reference.id, failed, now);
          sequences.refreshLiveness(db, reference.sequenceId);
          cascaded.push(reference);
          failedSequenceIds.push(reference.sequenceId);
        }
      }
      return cascaded;
    },
  };
};
