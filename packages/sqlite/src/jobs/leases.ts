import {
  assertLeaseDuration,
  expiredAttempt,
  findRefusal,
  type LeaseState,
  mayRunAgain,
  type ReapCall,
  type ReapedJob,
  refuse,
  type StateJob,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { type Columns, defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { Attempts } from "../history/attempts.ts";
import type { GroupQueues } from "../limits/group-queues.ts";
import type { DeleteIdleGroups } from "../limits/claim.ts";
import type { JobLookup } from "../rows/job-table.ts";
import { endExpiredLease, type RequeueExpired, type Runnable } from "../rows/runnable.ts";
import type { Deduplication } from "./deduplication.ts";
import type { Dependants } from "./dependants.ts";

/** The lease of the job under the alias `j`. */
export const describeLease = (columns: Columns): LeaseState => ({
  status: columns.value("j.status"),
  leaseToken: columns.value("j.lease_token", null),
  leasedUntil: columns.value("j.leased_until", null),
  failureReason: columns.value("j.failure_reason", null),
});

const leaseRow = defineRow((columns) => ({
  index: columns.value<number>("given.key"),
  state: describeLease(columns),
}));

/** The leases of these jobs, in the same order; undefined for jobs that do not exist. */
export type ReadLeases = (db: SqliteConnection, jobIds: readonly string[]) => (LeaseState | undefined)[];

export const prepareReadLeases = ({ job }: Tables): ReadLeases => {
  const findLeases = `SELECT ${leaseRow.columns} FROM json_each(?) AS given CROSS JOIN ${job} AS j ON j.id = given.value`;
  return (db, jobIds) => {
    const leases = Array.from<LeaseState | undefined>({ length: jobIds.length });
    for (const { index, state } of leaseRow.all(db, findLeases, [JSON.stringify(jobIds)]))
      leases[index] = state;
    return leases;
  };
};

/** The open transaction is the only writer, so every row is locked already. Only the leases are left to check. */
export const prepareLockHeldJobs =
  (readLeases: ReadLeases): Operation<"lockHeldJobs"> =>
  (db, { leases }, now) => {
    const jobIds = leases.map(({ jobId }) => jobId);
    return readLeases(db, jobIds).map((state, index) => {
      if (state === undefined) return refuse("not_found", undefined);
      return findRefusal(state, leases[index]!.leaseToken, now) ?? { kind: "locked" };
    });
  };

export const prepareReapExpiredLeases = (
  { job }: Tables,
  runnable: Runnable,
  lookup: JobLookup,
  dependants: Dependants,
  deduplication: Deduplication,
  groupQueues: GroupQueues,
  requeueExpired: RequeueExpired,
  deleteIdleGroups: DeleteIdleGroups,
  attempts: Attempts,
): Operation<"reapExpiredLeases"> => {
  const fail = `UPDATE ${job}
    SET status = 'failed', failed_at = ?, failure_reason = 'attempts_exhausted', last_error = ?, fingerprint = ?,
      ${endExpiredLease}
    WHERE id = ?`;

  const reap = (db: SqliteConnection, expired: StateJob, call: ReapCall, now: number): ReapedJob => {
    const { id, sequenceId, leasedBy } = expired;
    let cascaded: ReapedJob["cascaded"] = [];
    const areGroupsUsed = groupQueues.areUsed(db);
    if (areGroupsUsed) groupQueues.leave(db, [id]);
    if (mayRunAgain(expired, call.maxAttempts)) {
      requeueExpired(db, [id]);
      if (areGroupsUsed) groupQueues.enter(db, [id], now);
    } else {
      db.run(fail, [now, call.error, call.fingerprint ?? null, id]);
      if (areGroupsUsed) groupQueues.stop(db, expired);
      deduplication.refresh(db, sequenceId);
      cascaded = dependants.failDependants(db, sequenceId, now);
    }
    attempts.add(db, expiredAttempt(expired));
    return { job: lookup.find(db, id) ?? expired, previouslyLeasedBy: leasedBy, cascaded };
  };

  return (db, call, now) => {
    const reaped = runnable.expired(db, call.limit, now).map((expired) => reap(db, expired, call, now));
    if (groupQueues.areUsed(db)) deleteIdleGroups(db, now);
    return reaped;
  };
};

export const prepareRenewLeases = ({ job }: Tables, readLeases: ReadLeases): Operation<"renewLeases"> => {
  const renew = `UPDATE ${job} SET leased_until = ?, progress = coalesce(?, progress) WHERE id = ?`;
  const beginLast = `UPDATE ${job} SET attempt = ?, expired_leases = -abs(expired_leases) WHERE id = ?`;

  return (db, { leases }, now) => {
    for (const { leaseMs } of leases) assertLeaseDuration(leaseMs);
    const jobIds = leases.map(({ jobId }) => jobId);
    const states = readLeases(db, jobIds);
    return leases.map(({ jobId, leaseToken, leaseMs, progress, lastAttempt }, index) => {
      const state = states[index];
      if (state === undefined) return refuse("not_found", undefined);
      const refusal = findRefusal(state, leaseToken, now);
      if (refusal !== undefined) return refusal;
      const leasedUntil = now + leaseMs;
      db.run(renew, [leasedUntil, progress ?? null, jobId]);
      if (lastAttempt !== undefined) db.run(beginLast, [lastAttempt, jobId]);
      return { kind: "renewed", leasedUntil };
    });
  };
};
