import type { StateJob, StateSequence } from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import { findJob, jobColumns, parseJob } from "../job-columns.ts";
import type { Tables } from "../tables.ts";

/** Looks jobs up by their own id or by their place in a sequence. */
export interface JobLookup {
  find(db: SqliteConnection, jobId: string): StateJob | undefined;
  getJobs(db: SqliteConnection, jobIds: readonly string[]): (StateJob | undefined)[];
  /** The latest job of a sequence. */
  current(db: SqliteConnection, sequenceId: string): StateJob | undefined;
  getSequences(db: SqliteConnection, sequenceIds: readonly string[]): (StateSequence | undefined)[];
}

/** Columns of the last job of a sequence, under the alias `c`; null while it has only its first job. */
export const latestContinuation = (job: string, columns: string, sequenceId: string): string =>
  `(SELECT ${columns} FROM ${job} AS c WHERE c.sequence_id = ${sequenceId} AND c.sequence_index > 0
    ORDER BY c.sequence_index DESC LIMIT 1)`;

export const createJobLookup = ({ job }: Tables): JobLookup => {
  const findJobs = `SELECT wanted.key, ${jobColumns("j")} FROM json_each(?) AS wanted
    CROSS JOIN ${job} AS j ON j.id = wanted.value`;
  const findOne = `SELECT ${jobColumns("j")} FROM ${job} AS j WHERE j.id = ?`;
  const latest = latestContinuation(job, jobColumns("c"), "f.id");
  // A sequence has the id of its first job; the id of a continuation names no sequence.
  const currentJob = `SELECT coalesce(${latest}, ${jobColumns("f")})
    FROM ${job} AS f WHERE f.id = ? AND f.sequence_id = f.id`;
  const findSequences = `SELECT wanted.key, ${jobColumns("f")}, ${latest}
    FROM json_each(?) AS wanted CROSS JOIN ${job} AS f ON f.id = wanted.value AND f.sequence_id = f.id`;

  return {
    find: (db, jobId) => findJob(db, findOne, [jobId]),
    getJobs: (db, jobIds) => {
      const found = Array.from<StateJob | undefined>({ length: jobIds.length });
      for (const [key, text] of db.query(findJobs, [JSON.stringify(jobIds)]))
        found[Number(key)] = parseJob(text);
      return found;
    },
    current: (db, sequenceId) => findJob(db, currentJob, [sequenceId]),
    getSequences: (db, sequenceIds) => {
      const found = Array.from<StateSequence | undefined>({ length: sequenceIds.length });
      for (const [key, firstText, currentText] of db.query(findSequences, [JSON.stringify(sequenceIds)])) {
        const first = parseJob(firstText);
        found[Number(key)] = { first, current: currentText === null ? first : parseJob(currentText) };
      }
      return found;
    },
  };
};
