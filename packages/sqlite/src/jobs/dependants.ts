import {
  type BlockerFailure,
  type CascadeJob,
  type Dependant,
  failDependants as walkFailure,
  type JobReference,
  type JobStatus,
  type OnBlockerFailure,
  referenceTo,
  runSync,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { GroupQueues } from "../limits/group-queues.ts";
import { describeReference, type JobLookup } from "../rows/job-table.ts";
import type { Deduplication } from "./deduplication.ts";

/** The effects of the end of a sequence on the jobs that it blocks. */
export interface Dependants {
  /** A sequence has completed. Returns the jobs that became pending. */
  unblockDependants(db: SqliteConnection, sequenceId: string, now: number): JobReference[];
  /** A sequence has failed. Returns the jobs that failed because of it, directly or through other jobs. */
  failDependants(db: SqliteConnection, sequenceId: string, now: number): JobReference[];
  failByBlocker(db: SqliteConnection, failure: BlockerFailure<JobReference>, now: number): void;
}

interface BlockedJob extends JobReference {
  readonly status: JobStatus;
  readonly openBlockers: number;
  /** How many of its blockers are this sequence: deduplication can make two blockers one sequence. */
  readonly times: number;
  readonly onBlockerFailure: OnBlockerFailure;
}

const blockedRow = defineRow((columns): BlockedJob => ({
  ...describeReference(columns),
  status: columns.value("j.status"),
  openBlockers: columns.value("j.open_blockers"),
  times: columns.value("count(*)"),
  onBlockerFailure: columns.value("j.on_blocker_failure"),
}));

export const createDependants = (
  { job, blocker }: Tables,
  lookup: JobLookup,
  deduplication: Deduplication,
  groupQueues: GroupQueues,
): Dependants => {
  const hasDependants = `SELECT 1 FROM ${blocker} WHERE sequence_id = ? LIMIT 1`;
  const findDependants = `SELECT ${blockedRow.columns}
    FROM ${blocker} AS b CROSS JOIN ${job} AS j ON j.id = b.job_id
    WHERE b.sequence_id = ? GROUP BY j.seq ORDER BY j.seq`;
  const setOpenBlockers = `UPDATE ${job} SET open_blockers = ? WHERE id = ?`;
  // It is claimed after all jobs that could run before it.
  const unblock = `UPDATE ${job} SET open_blockers = 0, status = 'pending', scheduled_at = max(scheduled_at, ?)
    WHERE id = ?`;
  const fail = `UPDATE ${job}
    SET status = 'failed', failed_at = ?, failure_reason = 'blocker_failed', failed_blocker_id = ?, last_error = ?
    WHERE id = ?`;

  const failByBlocker: Dependants["failByBlocker"] = (db, failure, now) => {
    const { id, sequenceId } = failure.job;
    db.run(fail, [now, failure.blockerSequenceId, failure.error, id]);
    deduplication.refresh(db, sequenceId);
  };

  const dependantsOf = (db: SqliteConnection, blockerId: string): Dependant<CascadeJob>[] =>
    blockedRow
      .all(db, findDependants, [blockerId])
      .map((blocked) => ({ job: { ...blocked, lastError: null }, blockerId }));

  return {
    failByBlocker,
    unblockDependants: (db, sequenceId, now) => {
      const unblocked: JobReference[] = [];
      for (const blocked of blockedRow.all(db, findDependants, [sequenceId])) {
        const { id, status, times } = blocked;
        const openBlockers = Math.max(0, blocked.openBlockers - times);
        // For a job that has failed or was cancelled in the meantime, only the count changes.
        const isUnblocked = status === "blocked" && openBlockers === 0;
        if (isUnblocked) db.run(unblock, [now, id]);
        else db.run(setOpenBlockers, [openBlockers, id]);
        if (isUnblocked) unblocked.push(referenceTo(blocked));
      }
      if (unblocked.length > 0 && groupQueues.areUsed(db)) {
        const ids = unblocked.map(({ id }) => id);
        groupQueues.enter(db, ids, now);
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
        [lookup.current(db, sequenceId)!],
      );
      return runSync(cascade).get(sequenceId)!;
    },
  };
};
