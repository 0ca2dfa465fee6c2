import { expired, checkUpdate, type StateJob, updated, type WaitingJobResult } from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import type { Tables } from "../database/tables.ts";
import type { GroupQueues } from "../limits/group-queues.ts";
import { findJob, jobColumns, type JobLookup, queryJobs } from "../rows/job-table.ts";
import { createLongInputs, inlineInput } from "../rows/long-inputs.ts";
import type { Deduplication } from "./deduplication.ts";
import type { Dependants } from "./dependants.ts";

export const prepareExpireWaitingJobs = (
  tables: Tables,
  dependants: Dependants,
  deduplication: Deduplication,
  groupQueues: GroupQueues,
): Operation<"expireWaitingJobs"> => {
  const { job, expiringIndex } = tables;
  const find = `SELECT ${jobColumns(tables, "j")} FROM ${job} AS j INDEXED BY ${expiringIndex}
    WHERE j.expire_after_ms IS NOT NULL AND j.status = 'pending' AND j.attempt = 0
      AND j.scheduled_at + j.expire_after_ms <= ?
    ORDER BY j.scheduled_at + j.expire_after_ms LIMIT ?`;
  const fail = `UPDATE ${job} SET status = 'failed', failed_at = ?, failure_reason = 'expired', last_error = ?
    WHERE id = ?`;

  return (db, { limit, error }, now) =>
    queryJobs(db, find, [now, limit]).map((row) => {
      if (groupQueues.areUsed(db)) groupQueues.leave(db, [row.id]);
      db.run(fail, [now, error, row.id]);
      deduplication.refresh(db, row.sequenceId);
      const cascaded = dependants.failDependants(db, row.sequenceId, now);
      return { job: expired(row, error, now), cascaded };
    });
};

/** Changes of jobs that wait. */
export interface Edits {
  /** Writes a job that `replaced` or `updated` has made from the one stored. */
  save(db: SqliteConnection, job: StateJob, now: number): void;
  /** The job whose place the start with this id has taken. */
  findReplacedBy(db: SqliteConnection, startId: string): StateJob | undefined;
}

export const createWaitingJobs = (tables: Tables, groupQueues: GroupQueues): Edits => {
  const { job, replacedIndex } = tables;
  const longInputs = createLongInputs(tables);
  const save = `UPDATE ${job} SET input = ?, replaced_by = ?, trace_context = ?, priority = ?, given_priority = NULL, group_order = NULL, max_attempts = ?,
      max_attempts_explicit = ?, timeout_ms = ?, lease_ms = ?, expire_after_ms = ?, scheduled_at = ?, attempt = ?,
      expired_leases = ?, progress = ?
    WHERE id = ?`;
  const findReplaced = `SELECT ${jobColumns(tables, "j")} FROM ${job} AS j INDEXED BY ${replacedIndex} WHERE j.replaced_by = ?`;

  return {
    save: (db, row, now) => {
      const usesGroups = groupQueues.areUsed(db);
      if (usesGroups) groupQueues.leave(db, [row.id]);
      db.run(save, [
        inlineInput(row.input),
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
      longInputs.replace(db, row);
      if (usesGroups) groupQueues.enter(db, [row.id], now);
    },
    findReplacedBy: (db, startId) => findJob(db, findReplaced, [startId]),
  };
};

export const prepareUpdateWaitingJobs =
  (lookup: JobLookup, waiting: Edits): Operation<"updateWaitingJobs"> =>
  (db, { jobIds, change }, now) => {
    const changed = new Map<string, StateJob>();
    const stored = lookup.getJobs(db, jobIds);
    return jobIds.map((jobId, index): WaitingJobResult => {
      const before = stored[index];
      const refusal = checkUpdate(before, change);
      if (before === undefined || refusal !== undefined)
        return { jobId, kind: refusal!, job: before ?? null };
      const job = changed.get(jobId) ?? updated(before, change, now);
      if (!changed.has(jobId)) waiting.save(db, job, now);
      changed.set(jobId, job);
      return { jobId, kind: "changed", job };
    });
  };
