import { findCycle, type FindWaiting, runSync } from "leasehold/adapter";
import type { SqliteConnection } from "./connection/connection.ts";
import type { JobLookup } from "./operations/get-jobs.ts";
import { allTexts } from "./row.ts";
import type { Tables } from "./tables.ts";

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
