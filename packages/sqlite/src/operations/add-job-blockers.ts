import {
  type AddJobBlockersCall,
  BlockerCycleError,
  failureBy,
  findCycle as walkToCycle,
  type FindWaiting,
  JobNotFoundError,
  runSync,
  type StateJob,
} from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import type { Tables } from "../tables.ts";
import type { Dependants } from "../dependants.ts";
import type { Sequences } from "./get-jobs.ts";

export interface Blockers {
  addJobBlockers(db: SqliteConnection, call: AddJobBlockersCall, now: number): StateJob;
  /** The sequences a job was given, in the order given. */
  of(db: SqliteConnection, jobId: string): string[];
  hasFailed(db: SqliteConnection, jobId: string): boolean;
  /** The way from one of the blockers to the job's own sequence, if they wait for it. */
  findCycle(db: SqliteConnection, sequenceId: string, blockerIds: readonly string[]): string[] | undefined;
}

export const createBlockers = (
  { job, blocker }: Tables,
  sequences: Sequences,
  dependants: Dependants,
): Blockers => {
  const list = `SELECT sequence_id FROM ${blocker} WHERE job_id = ? ORDER BY position`;
  const insert = `INSERT INTO ${blocker} (job_id, position, sequence_id) VALUES (?, ?, ?)`;
  const setBlockers = `UPDATE ${job} SET blocker_count = ?, open_blockers = ?, status = ? WHERE id = ?`;
  const waiting = `SELECT DISTINCT j.sequence_id FROM ${blocker} AS b CROSS JOIN ${job} AS j ON j.id = b.job_id
    WHERE b.sequence_id = ? AND j.status = 'blocked'`;

  const of: Blockers["of"] = (db, jobId) => db.query(list, [jobId]).map(([id]) => id as string);

  const isFailed = (db: SqliteConnection, sequenceId: string): boolean =>
    sequences.current(db, sequenceId)?.status === "failed";

  const findCycle: Blockers["findCycle"] = (db, sequenceId, blockerIds) => {
    const findWaiting: FindWaiting = (sequenceIds) =>
      sequenceIds.flatMap((waitsFor) =>
        db.query(waiting, [waitsFor]).map(([id]) => ({ sequenceId: id as string, waitsFor })),
      );
    return runSync(walkToCycle(sequenceId, blockerIds, findWaiting));
  };

  const addJobBlockers: Blockers["addJobBlockers"] = (db, { jobId, blockerSequenceIds }, now) => {
    const found = sequences.find(db, jobId);
    if (found === undefined) throw new JobNotFoundError(jobId);
    if (found.status !== "blocked") throw new Error(`Job ${jobId} was not created to wait for blockers.`);
    const { sequenceId } = found;

    let openBlockers = 0;
    let failedBlocker: StateJob | undefined;
    for (const blockerId of blockerSequenceIds) {
      const current = sequences.current(db, blockerId);
      if (current === undefined) throw new JobNotFoundError(blockerId, "job sequence");
      if (current.status !== "completed") openBlockers += 1;
      if (current.status === "failed") failedBlocker ??= current;
    }
    const cycle = findCycle(db, sequenceId, blockerSequenceIds);
    if (cycle !== undefined) throw new BlockerCycleError(jobId, cycle);

    for (const [position, blockerId] of blockerSequenceIds.entries())
      db.run(insert, [jobId, position, blockerId]);
    const status = openBlockers > 0 ? "blocked" : "pending";
    db.run(setBlockers, [blockerSequenceIds.length, openBlockers, status, jobId]);
    if (failedBlocker !== undefined && found.onBlockerFailure === "fail") {
      dependants.failByBlocker(db, failureBy(found, failedBlocker), now);
      dependants.failDependants(db, sequenceId, now);
    }
    return sequences.find(db, jobId) ?? found;
  };

  return {
    addJobBlockers,
    of,
    hasFailed: (db, jobId) => of(db, jobId).some((sequenceId) => isFailed(db, sequenceId)),
    findCycle,
  };
};
