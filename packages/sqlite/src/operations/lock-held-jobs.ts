import { findRefusal, refuse } from "leasehold/adapter";
import type { ReadLeases } from "../lease-states.ts";
import type { Operation } from "../operation.ts";

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
