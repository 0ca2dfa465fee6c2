import { findRefusal, refuse } from "leasehold/adapter";
import type { ReadLeases } from "../lease-states.ts";
import type { Operation } from "../operation.ts";

/** The open transaction is the only writer, so every row is locked already. Only the lease is left to check. */
export const prepareLockJob =
  (readLeases: ReadLeases): Operation<"lockJob"> =>
  (db, { jobId, leaseToken }, now) => {
    const [state] = readLeases(db, [jobId]);
    if (state === undefined) return refuse("not_found", undefined);
    return findRefusal(state, leaseToken, now) ?? { kind: "locked" };
  };
