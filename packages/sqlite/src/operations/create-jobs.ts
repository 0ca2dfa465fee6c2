import {
  createdStateJob,
  type CreatedStateJob,
  JobAlreadyExistsError,
  JobNotFoundError,
  type NewJob,
  type StateJob,
} from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import { findJob, jobColumns } from "../job-columns.ts";
import type { Tables } from "../tables.ts";
import { prepareInsertJobs } from "./insert-jobs.ts";
import type { Sequences } from "./get-jobs.ts";

export type CreateJobs = (db: SqliteConnection, jobs: readonly NewJob[], now: number) => CreatedStateJob[];

export const prepareCreateJobs = (tables: Tables, sequences: Sequences): CreateJobs => {
  const { job, keyIndex, liveKeyIndex } = tables;
  const insertJobs = prepareInsertJobs(tables);
  const findTaken = `SELECT j.id FROM json_each(?) AS given CROSS JOIN ${job} AS j ON j.id = given.value`;
  const newest = (index: string, live: string): string =>
    `SELECT ${jobColumns("j")} FROM ${job} AS j INDEXED BY ${index}
     WHERE j.sequence_type_name = ? AND j.deduplication_key = ? AND j.deduplication_live ${live}
     ORDER BY j.created_at DESC, j.seq DESC LIMIT 1`;
  const newestOf = { all: newest(keyIndex, "IS NOT NULL"), unfinished: newest(liveKeyIndex, "= 1") };

  // Everything that can be wrong is found before the first job is stored: that makes the call all or nothing.
  const assertCreatable = (db: SqliteConnection, jobs: readonly NewJob[]): void => {
    const ids = jobs.map(({ id }) => id);
    const taken = new Set<string>();
    for (const [id] of db.query(findTaken, [JSON.stringify(ids)])) taken.add(id as string);
    const given = new Set<string>();
    const positions = new Set<string>();
    for (const { id, sequenceId, sequenceIndex } of jobs) {
      if (given.has(id)) taken.add(id);
      given.add(id);
      if (sequenceIndex === 0) continue;
      // A job has one continuation: a second one in the same place is as good as the same job again.
      const position = `${sequenceIndex} ${sequenceId}`;
      const latest = sequences.current(db, sequenceId);
      if (positions.has(position) || (latest !== undefined && latest.sequenceIndex >= sequenceIndex))
        taken.add(id);
      positions.add(position);
    }
    if (taken.size > 0) throw new JobAlreadyExistsError([...taken]);

    for (const { sequenceId, sequenceIndex } of jobs) {
      if (sequenceIndex === 0 || given.has(sequenceId)) continue;
      if (sequences.current(db, sequenceId) === undefined)
        throw new JobNotFoundError(sequenceId, "job sequence");
    }
  };

  const findDuplicate = (db: SqliteConnection, wanted: NewJob, now: number): StateJob | undefined => {
    if (wanted.deduplication === null) return undefined;
    const { key, scope, windowMs } = wanted.deduplication;
    const earlier = findJob(db, newestOf[scope], [wanted.sequenceTypeName, key]);
    if (earlier === undefined || (windowMs !== null && earlier.createdAt <= now - windowMs)) return undefined;
    return earlier;
  };

  return (db, jobs, now) => {
    assertCreatable(db, jobs);
    const inserts = insertJobs(db);
    const results = jobs.map((wanted): CreatedStateJob => {
      // Earlier jobs of the same call count as duplicates, so they have to be there.
      if (wanted.deduplication !== null) inserts.flush();
      const duplicate = findDuplicate(db, wanted, now);
      if (duplicate !== undefined) return { job: duplicate, deduplicated: true };
      const row = createdStateJob(wanted, now);
      inserts.add(row);
      return { job: row, deduplicated: false };
    });
    inserts.flush();
    for (const { sequenceId, sequenceIndex } of jobs)
      if (sequenceIndex > 0) sequences.refreshLiveness(db, sequenceId);
    return results;
  };
};
