import type { StateJob } from "leasehold/adapter";
import type { SqliteConnection } from "./connection/connection.ts";
import type { Lines } from "./flow/lines.ts";
import { findJob, jobColumns } from "./job-columns.ts";
import type { Tables } from "./tables.ts";

/** Changes of jobs that wait. */
export interface WaitingJobs {
  /** Writes a job that `replaced` or `updated` has made from the one stored. */
  save(db: SqliteConnection, job: StateJob, now: number): void;
  /** The job whose place the start with this id has taken. */
  findReplacedBy(db: SqliteConnection, startId: string): StateJob | undefined;
}

export const createWaitingJobs = ({ job, replacedIndex }: Tables, lines: Lines): WaitingJobs => {
  const save = `UPDATE ${job} SET input = ?, replaced_by = ?, trace_context = ?, priority = ?, given_priority = NULL, rank = NULL, max_attempts = ?,
      max_attempts_given = ?, timeout_ms = ?, lease_ms = ?, expire_after_ms = ?, scheduled_at = ?, attempt = ?,
      expired_leases = ?, progress = ?
    WHERE id = ?`;
  const findReplaced = `SELECT ${jobColumns("j")} FROM ${job} AS j INDEXED BY ${replacedIndex} WHERE j.replaced_by = ?`;

  return {
    save: (db, row, now) => {
      const usesLines = lines.areUsed(db);
      if (usesLines) lines.leave(db, [row.id]);
      db.run(save, [
        row.input,
        row.replacedBy,
        row.traceContext,
        row.priority,
        row.maxAttempts,
        row.maxAttemptsGiven ? null : 0,
        row.timeoutMs,
        row.leaseMs,
        row.expireAfterMs,
        row.scheduledAt,
        row.attempt,
        row.expiredLeases,
        row.progress,
        row.id,
      ]);
      if (usesLines) lines.enter(db, [row.id], now);
    },
    findReplacedBy: (db, startId) => findJob(db, findReplaced, [startId]),
  };
};
