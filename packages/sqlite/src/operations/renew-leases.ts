import { assertLeaseDuration, findRefusal, refuse } from "leasehold/adapter";
import type { ReadLeases } from "../lease-states.ts";
import type { Operation } from "../operation.ts";
import type { Tables } from "../tables.ts";

export const prepareRenewLeases = ({ job }: Tables, readLeases: ReadLeases): Operation<"renewLeases"> => {
  const renew = `UPDATE ${job} SET leased_until = ?, progress = coalesce(?, progress) WHERE id = ?`;

  return (db, { leases }, now) => {
    for (const { leaseMs } of leases) assertLeaseDuration(leaseMs);
    const jobIds = leases.map(({ jobId }) => jobId);
    const states = readLeases(db, jobIds);
    return leases.map(({ jobId, leaseToken, leaseMs, progress }, index) => {
      const state = states[index];
      if (state === undefined) return refuse("not_found", undefined);
      const refusal = findRefusal(state, leaseToken, now);
      if (refusal !== undefined) return refusal;
      const leasedUntil = now + leaseMs;
      db.run(renew, [leasedUntil, progress ?? null, jobId]);
      return { kind: "renewed", leasedUntil };
    });
  };
};
