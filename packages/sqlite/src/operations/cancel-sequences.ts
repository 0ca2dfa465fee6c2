import {
  type CancelCall,
  type CancelResult,
  hasAttemptsLeft,
  type JobReference,
  judgeCancellation,
  type ReapCall,
  type ReapedJob,
  type StateJob,
} from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import { jobColumns, queryJobs } from "../job-columns.ts";
import type { Tables } from "../tables.ts";
import type { Dependants } from "../dependants.ts";
import type { Sequences } from "./get-jobs.ts";

// Both end a lease without a word from its holder. They take the token away, so that the holder's own outcome, coming
// late, is refused and not mistaken for a repetition.

export interface Interventions {
  reapExpiredLeases(db: SqliteConnection, call: ReapCall, now: number): ReapedJob[];
  cancelSequences(db: SqliteConnection, call: CancelCall, now: number): CancelResult[];
}

const none: readonly JobReference[] = [];

export const createInterventions = (
  { job, runningIndex }: Tables,
  sequences: Sequences,
  dependants: Dependants,
): Interventions => {
  const findExpired = `SELECT ${jobColumns("j")} FROM ${job} AS j INDEXED BY ${runningIndex}
    WHERE j.status = 'running' AND j.leased_until <= ? ORDER BY j.leased_until LIMIT ?`;
  const requeue = `UPDATE ${job} SET status = 'pending', scheduled_at = leased_until, last_failed_at = leased_until, lease_token = NULL,
      leased_by = NULL, leased_until = NULL, expired_leases = expired_leases + 1
    WHERE id = ?`;
  const fail = `UPDATE ${job} SET status = 'failed', failed_at = ?, failure_reason = ?, last_error = ?,
      expired_leases = expired_leases + ?, last_failed_at = ?, lease_token = NULL, leased_by = NULL, leased_until = NULL
    WHERE id = ?`;

  const reap = (
    db: SqliteConnection,
    expired: StateJob,
    { error, maxAttempts }: ReapCall,
    now: number,
  ): ReapedJob => {
    const { id, sequenceId, leasedBy, leasedUntil } = expired;
    let cascaded = none;
    if (hasAttemptsLeft(expired, maxAttempts)) db.run(requeue, [id]);
    else {
      db.run(fail, [now, "attempts_exhausted", error, 1, leasedUntil, id]);
      sequences.refreshLiveness(db, sequenceId);
      cascaded = dependants.failDependants(db, sequenceId, now);
    }
    return { job: sequences.find(db, id) ?? expired, previouslyLeasedBy: leasedBy, cascaded };
  };

  const cancel = (db: SqliteConnection, sequenceId: string, error: string, now: number): CancelResult => {
    const current = sequences.current(db, sequenceId);
    const unchanged = judgeCancellation(sequenceId, current);
    if (current === undefined || unchanged !== undefined) return unchanged!;
    const { id, status, lastFailedAt } = current;
    db.run(fail, [now, "cancelled", error, 0, lastFailedAt, id]);
    sequences.refreshLiveness(db, sequenceId);
    const job = sequences.find(db, id) ?? current;
    const wasRunning = status === "running";
    return { sequenceId, kind: "cancelled", job, changed: true, wasRunning, cascaded: none };
  };

  return {
    reapExpiredLeases: (db, call, now) =>
      queryJobs(db, findExpired, [now, call.limit]).map((expired) => reap(db, expired, call, now)),
    // All that were named are cancelled before any failure spreads: a job named beside its own blocker is `cancelled`
    // whichever of the two comes first.
    cancelSequences: (db, { sequenceIds, error }, now) =>
      sequenceIds
        .map((sequenceId) => cancel(db, sequenceId, error, now))
        .map((result) =>
          result.kind === "cancelled"
            ? { ...result, cascaded: dependants.failDependants(db, result.sequenceId, now) }
            : result,
        ),
  };
};
