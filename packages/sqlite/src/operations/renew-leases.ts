import {
  assertLeaseDuration,
  findRefusal,
  type HeldLease,
  type LeaseState,
  type LockResult,
  refuse,
  type RenewalResult,
} from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import type { Tables } from "../tables.ts";

export interface Renewal extends HeldLease {
  readonly leaseMs: number;
  readonly progress?: string | undefined;
}

export interface Leases {
  renewLeases(db: SqliteConnection, renewals: readonly Renewal[], now: number): RenewalResult[];
  lockJob(db: SqliteConnection, lease: HeldLease, now: number): LockResult;
}

export const createLeases = ({ job }: Tables): Leases => {
  const findStates = `SELECT given.key, j.status, j.lease_token, j.leased_until, j.failure_reason
    FROM json_each(?) AS given CROSS JOIN ${job} AS j ON j.id = given.value`;
  const renew = `UPDATE ${job} SET leased_until = ?, progress = coalesce(?, progress) WHERE id = ?`;

  const loadStates = (db: SqliteConnection, jobIds: readonly string[]): (LeaseState | undefined)[] => {
    const states = Array.from<LeaseState | undefined>({ length: jobIds.length });
    for (const [key, status, leaseToken, leasedUntil, failureReason] of db.query(findStates, [
      JSON.stringify(jobIds),
    ])) {
      states[key as number] = { status, leaseToken, leasedUntil, failureReason } as LeaseState;
    }
    return states;
  };

  return {
    renewLeases: (db, renewals, now) => {
      for (const { leaseMs } of renewals) assertLeaseDuration(leaseMs);
      const states = loadStates(
        db,
        renewals.map(({ jobId }) => jobId),
      );
      return renewals.map(({ jobId, leaseToken, leaseMs, progress }, index) => {
        const state = states[index];
        if (state === undefined) return refuse("not_found", undefined);
        const refusal = findRefusal(state, leaseToken, now);
        if (refusal !== undefined) return refusal;
        const leasedUntil = now + leaseMs;
        db.run(renew, [leasedUntil, progress ?? null, jobId]);
        return { kind: "renewed", leasedUntil };
      });
    },
    // The open transaction is the only writer, which locks every row; only the lease is left to check.
    lockJob: (db, { jobId, leaseToken }, now) => {
      const [state] = loadStates(db, [jobId]);
      if (state === undefined) return refuse("not_found", undefined);
      return findRefusal(state, leaseToken, now) ?? { kind: "locked" };
    },
  };
};
