import {
  type BlockerFailure,
  type CascadeJob,
  type Dependant,
  failDependants as walkFailure,
  type JobReference,
  type JobStatus,
  type OnBlockerFailure,
  runSync,
} from "leasehold/adapter";
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
  failByBlocker(db: SqliteConnection, failure: BlockerFailure<JobReference>, now: number): void;
}

export const createDependants = ({ job, blocker }: Tables, sequences: Sequences): Dependants => {
  // Two blockers of a job can turn out to be one sequence, by deduplication; then both are done.
  const findDependants = `SELECT ${referenceColumns("j")}, j.status, j.open_blockers, count(*), j.on_blocker_failure
    FROM ${blocker} AS b CROSS JOIN ${job} AS j ON j.id = b.job_id
    WHERE b.sequence_id = ? GROUP BY j.seq ORDER BY j.seq`;
  const hasDependants = `SELECT 1 FROM ${blocker} WHERE sequence_id = ? LIMIT 1`;
  const setOpenBlockers = `UPDATE ${job} SET open_blockers = ? WHERE id = ?`;
  // Its place in line is behind all that could run before it.
  const unblock = `UPDATE ${job} SET open_blockers = 0, status = 'pending', scheduled_at = max(scheduled_at, ?)
    WHERE id = ?`;
  const fail = `UPDATE ${job}
    SET status = 'failed', failed_at = ?, failure_reason = 'blocker_failed', failed_blocker_id = ?, last_error = ?
    WHERE id = ?`;

  const failByBlocker: Dependants["failByBlocker"] = (db, failure, now) => {
    const { id, sequenceId } = failure.job;
    db.run(fail, [now, failure.blockerSequenceId, failure.error, id]);
    sequences.refreshLiveness(db, sequenceId);
  };

  const dependantsOf = (db: SqliteConnection, blockerId: string): Dependant<CascadeJob>[] =>
    db.query(findDependants, [blockerId]).map((row) => {
      const [status, , , onBlockerFailure] = row.slice(6) as [JobStatus, number, number, OnBlockerFailure];
      return { job: { ...toReference(row), status, onBlockerFailure, lastError: null }, blockerId };
    });

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
    failDependants: (db, sequenceId, now) => {
      if (db.first(hasDependants, [sequenceId]) === undefined) return [];
      const cascade = walkFailure<CascadeJob>(
        {
          dependants: (failed) => failed.flatMap((blockedBy) => dependantsOf(db, blockedBy.sequenceId)),
          fail: (failures) => {
            for (const failure of failures) failByBlocker(db, failure, now);
          },
        },
        [sequences.current(db, sequenceId)!],
      );
      return runSync(cascade).get(sequenceId)!;
    },
  };
};
