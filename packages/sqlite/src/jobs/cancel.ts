import { type CancelResult, checkCancellation, interruptedAttempt } from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import type { Tables } from "../database/tables.ts";
import type { Attempts } from "../history/attempts.ts";
import type { GroupQueues } from "../limits/group-queues.ts";
import type { JobLookup } from "../rows/job-table.ts";
import type { Deduplication } from "./deduplication.ts";
import type { Dependants } from "./dependants.ts";

export const prepareCancelSequences = (
  { job }: Tables,
  lookup: JobLookup,
  dependants: Dependants,
  deduplication: Deduplication,
  groupQueues: GroupQueues,
  attempts: Attempts,
): Operation<"cancelSequences"> => {
  // Removes the token, so that a late outcome of the former holder is refused and not taken for a repetition.
  const fail = `UPDATE ${job} SET status = 'failed', failed_at = ?, failure_reason = 'cancelled', last_error = ?,
      lease_token = NULL, leased_by = NULL, leased_until = NULL
    WHERE id = ?`;

  const cancel = (db: SqliteConnection, sequenceId: string, error: string, now: number): CancelResult => {
    const current = lookup.current(db, sequenceId);
    const unchanged = checkCancellation(sequenceId, current);
    if (current === undefined || unchanged !== undefined) return unchanged!;
    const { id, status } = current;
    if (groupQueues.areUsed(db)) groupQueues.leave(db, [id]);
    db.run(fail, [now, error, id]);
    const attempt = interruptedAttempt(current, "cancel", now);
    if (attempt !== undefined) attempts.add(db, attempt);
    deduplication.refresh(db, sequenceId);
    const job = lookup.find(db, id) ?? current;
    const wasRunning = status === "running";
    return { sequenceId, kind: "cancelled", job, changed: true, wasRunning, cascaded: [] };
  };

  // All sequences of the call are cancelled before any failure is passed on. A job that is named together with its own
  // blocker is therefore `cancelled`, whichever of the two comes first.
  return (db, { sequenceIds, error }, now) =>
    sequenceIds
      .map((sequenceId) => cancel(db, sequenceId, error, now))
      .map((result) =>
        result.kind === "cancelled"
          ? { ...result, cascaded: dependants.failDependants(db, result.sequenceId, now) }
          : result,
      );
};
