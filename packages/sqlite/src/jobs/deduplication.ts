import type { NewJob, StateJob } from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Tables } from "../database/tables.ts";
import { findJob, jobColumns, latestContinuation } from "../rows/job-table.ts";

/**
 * `deduplication_open` of the first job of a sequence is 1 while its sequence is unfinished and 0 afterwards; null without a
 * deduplication key.
 */
export interface Deduplication {
  /** The earlier job that a new one would duplicate. */
  findEarlier(db: SqliteConnection, wanted: NewJob, now: number): StateJob | undefined;
  /** Brings `deduplication_open` of a sequence up to date, after its current job began, ended or was revived. */
  refresh(db: SqliteConnection, sequenceId: string): void;
  /** Whether another unfinished sequence has the key of this one. */
  hasLiveDuplicate(db: SqliteConnection, sequenceId: string): boolean;
}

/** Of a new job. */
export const initiallyLive = ({ sequenceIndex, deduplicationKey }: StateJob): 1 | null =>
  sequenceIndex === 0 && deduplicationKey !== null ? 1 : null;

export const createDeduplication = (tables: Tables): Deduplication => {
  const { job, keyIndex, openKeyIndex } = tables;
  const newest = (index: string, live: string): string =>
    `SELECT ${jobColumns(tables, "j")} FROM ${job} AS j INDEXED BY ${index}
     WHERE j.sequence_type_name = ? AND j.deduplication_key = ? AND j.deduplication_open ${live}
     ORDER BY j.created_at DESC, j.seq DESC LIMIT 1`;
  const newestOf = {
    all: newest(keyIndex, "IS NOT NULL"),
    unfinished: newest(openKeyIndex, "= 1"),
    pending: newest(openKeyIndex, "= 1 AND j.status IN ('pending', 'blocked')"),
  };
  const refresh = `UPDATE ${job} AS f SET deduplication_open =
      coalesce(${latestContinuation(job, "c.status", "f.id")}, f.status) NOT IN ('completed', 'failed')
    WHERE f.id = ? AND f.deduplication_open IS NOT NULL`;
  const findOtherLive = `SELECT 1 FROM ${job} AS f CROSS JOIN ${job} AS j INDEXED BY ${openKeyIndex}
    WHERE f.id = ? AND j.deduplication_open = 1 AND j.sequence_type_name = f.sequence_type_name
      AND j.deduplication_key = f.deduplication_key AND j.id <> f.id LIMIT 1`;

  return {
    findEarlier: (db, { deduplication, sequenceTypeName }, now) => {
      if (deduplication === null) return undefined;
      const { key, scope, windowMs } = deduplication;
      const earlier = findJob(db, newestOf[scope], [sequenceTypeName, key]);
      const isTooOld = earlier !== undefined && windowMs !== null && earlier.createdAt <= now - windowMs;
      return isTooOld ? undefined : earlier;
    },
    refresh: (db, sequenceId) => void db.run(refresh, [sequenceId]),
    hasLiveDuplicate: (db, sequenceId) => db.first(findOtherLive, [sequenceId]) !== undefined,
  };
};
