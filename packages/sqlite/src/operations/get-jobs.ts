import type { StateJob, StateSequence } from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import { findJob, jobColumns, parseJob } from "../job-columns.ts";
import type { Tables } from "../tables.ts";

/** Looks jobs up by their own id or by their place in a sequence. */
export interface Sequences {
  find(db: SqliteConnection, jobId: string): StateJob | undefined;
  findMany(db: SqliteConnection, jobIds: readonly string[]): (StateJob | undefined)[];
  /** The latest job of a sequence. */
  current(db: SqliteConnection, sequenceId: string): StateJob | undefined;
  getMany(db: SqliteConnection, sequenceIds: readonly string[]): (StateSequence | undefined)[];
  /** Brings `deduplication_live` of the sequence up to date, after its current job began, ended or was revived. */
  refreshLiveness(db: SqliteConnection, sequenceId: string): void;
}

export const createSequences = ({ job }: Tables): Sequences => {
  const latestContinuation = (columns: string, sequenceId: string): string =>
    `(SELECT ${columns} FROM ${job} AS c WHERE c.sequence_id = ${sequenceId} AND c.sequence_index > 0
      ORDER BY c.sequence_index DESC LIMIT 1)`;
  const findJobs = `SELECT wanted.key, ${jobColumns("j")} FROM json_each(?) AS wanted
    CROSS JOIN ${job} AS j ON j.id = wanted.value`;
  const findOne = `SELECT ${jobColumns("j")} FROM ${job} AS j WHERE j.id = ?`;
  // A sequence goes by the id of its first job; the id of a continuation names no sequence.
  const currentJob = `SELECT coalesce(${latestContinuation(jobColumns("c"), "f.id")}, ${jobColumns("f")})
    FROM ${job} AS f WHERE f.id = ? AND f.sequence_id = f.id`;
  const sequences = `SELECT wanted.key, ${jobColumns("f")}, ${latestContinuation(jobColumns("c"), "f.id")}
    FROM json_each(?) AS wanted CROSS JOIN ${job} AS f ON f.id = wanted.value AND f.sequence_id = f.id`;
  const refresh = `UPDATE ${job} AS f SET deduplication_live =
      coalesce(${latestContinuation("c.status", "f.id")}, f.status) NOT IN ('completed', 'failed')
    WHERE f.id = ? AND f.deduplication_live IS NOT NULL`;

  return {
    find: (db, jobId) => findJob(db, findOne, [jobId]),
    findMany: (db, jobIds) => {
      const found = Array.from<StateJob | undefined>({ length: jobIds.length });
      for (const [key, text] of db.query(findJobs, [JSON.stringify(jobIds)]))
        found[key as number] = parseJob(text);
      return found;
    },
    current: (db, sequenceId) => findJob(db, currentJob, [sequenceId]),
    getMany: (db, sequenceIds) => {
      const found = Array.from<StateSequence | undefined>({ length: sequenceIds.length });
      for (const [key, firstText, currentText] of db.query(sequences, [JSON.stringify(sequenceIds)])) {
        const first = parseJob(firstText);
        found[key as number] = { first, current: currentText === null ? first : parseJob(currentText) };
      }
      return found;
    },
    refreshLiveness: (db, sequenceId) => void db.run(refresh, [sequenceId]),
  };
};
