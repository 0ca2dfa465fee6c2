import {
  BlockerCycleError,
  failureBy,
  findCycle,
  type FindWaiting,
  JobNotFoundError,
  runSync,
  type StateJob,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { allTexts } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { GroupQueues } from "../limits/group-queues.ts";
import type { JobLookup } from "../rows/job-table.ts";
import type { Dependants } from "./dependants.ts";

/** What jobs wait for. */
export interface Blockers {
  /** The sequences that a job was given as blockers, in the order given. */
  of(db: SqliteConnection, jobId: string): string[];
  hasFailed(db: SqliteConnection, jobId: string): boolean;
  /** The way from one of the blockers to the job's own sequence, if they wait for it. */
  findCycle(db: SqliteConnection, sequenceId: string, blockerIds: readonly string[]): string[] | undefined;
}

export const createBlockers = ({ job, blocker }: Tables, lookup: JobLookup): Blockers => {
  const list = `SELECT sequence_id FROM ${blocker} WHERE job_id = ? ORDER BY position`;
  const waiting = `SELECT DISTINCT j.sequence_id FROM ${blocker} AS b CROSS JOIN ${job} AS j ON j.id = b.job_id
    WHERE b.sequence_id = ? AND j.status = 'blocked'`;

  const of: Blockers["of"] = (db, jobId) => allTexts(db, list, [jobId]);

  return {
    of,
    hasFailed: (db, jobId) =>
      of(db, jobId).some((sequenceId) => lookup.current(db, sequenceId)?.status === "failed"),
    findCycle: (db, sequenceId, blockerIds) => {
      const findWaiting: FindWaiting = (sequenceIds) =>
        sequenceIds.flatMap((waitsFor) =>
          allTexts(db, waiting, [waitsFor]).map((id) => ({ sequenceId: id, waitsFor })),
        );
      return runSync(findCycle(sequenceId, blockerIds, findWaiting));
    },
  };
};

export const prepareAddJobBlockers = (
  { job, blocker }: Tables,
  lookup: JobLookup,
  blockers: Blockers,
  dependants: Dependants,
  groupQueues: GroupQueues,
): Operation<"addJobBlockers"> => {
  const insert = `INSERT INTO ${blocker} (job_id, position, sequence_id) VALUES (?, ?, ?)`;
  const setBlockers = `UPDATE ${job} SET blocker_count = ?, open_blockers = ?, status = ? WHERE id = ?`;

  return (db, { jobId, blockerSequenceIds }, now) => {
    const found = lookup.find(db, jobId);
    if (found === undefined) throw new JobNotFoundError(jobId);
    if (found.status !== "blocked") throw new Error(`Job ${jobId} was not created to wait for blockers.`);
    const { sequenceId } = found;

    let openBlockers = 0;
    let failedBlocker: StateJob | undefined;
    for (const blockerId of blockerSequenceIds) {
      const current = lookup.current(db, blockerId);
      if (current === undefined) throw new JobNotFoundError(blockerId, "job sequence");
      if (current.status !== "completed") openBlockers += 1;
      if (current.status === "failed") failedBlocker ??= current;
    }
    const cycle = blockers.findCycle(db, sequenceId, blockerSequenceIds);
    if (cycle !== undefined) throw new BlockerCycleError(jobId, cycle);

    for (const [position, blockerId] of blockerSequenceIds.entries())
      db.run(insert, [jobId, position, blockerId]);
    const status = openBlockers > 0 ? "blocked" : "pending";
    db.run(setBlockers, [blockerSequenceIds.length, openBlockers, status, jobId]);
    if (status === "pending" && groupQueues.areUsed(db)) groupQueues.enter(db, [jobId], now);
    if (failedBlocker !== undefined && found.onBlockerFailure === "fail") {
      dependants.failByBlocker(db, failureBy(found, failedBlocker), now);
      dependants.failDependants(db, sequenceId, now);
    }
    return lookup.find(db, jobId) ?? found;
  };
};

export const prepareGetBlockers =
  (lookup: JobLookup, blockers: Blockers): Operation<"getBlockers"> =>
  (db, { jobIds }) =>
    jobIds.map((jobId) =>
      lookup.getSequences(db, blockers.of(db, jobId)).filter((sequence) => sequence !== undefined),
    );
