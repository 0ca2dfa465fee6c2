import type { JobOutcome } from "../../store/contract/outcomes.ts";
import type { StateJob } from "../../store/contract/job.ts";
import type { SimulationFault } from "../faults.ts";
import { type Check, isLasting, processOf, short } from "./check.ts";

/** Besides poison, these take no process down and let no lease run out. */
const harmless: ReadonlySet<string> = new Set<SimulationFault>([
  "poison",
  "hints",
  "clock_step",
  "failing_handlers",
  "stuck_handlers",
]);

/**
 * Where nothing but poisonous jobs takes processes down, only these may be dead-lettered for it: not the healthy ones
 * that happened to sit beside them. A job with a single attempt has none to prove its health with, and one whose handler
 * has failed has used some up. Nor is a job excepted whose process lived but waited so long for other transactions that the last
 * lease expired: the last permitted attempt has then lost its lease, which is documented to fail the job.
 */
export const poisonHarmsNobodyElse: Check = {
  invariant: "a poisonous job takes no neighbour along",
  watch: ({ plan, faultsOf, report }) => {
    const applies = Object.keys(plan.faults).every((kind) => harmless.has(kind));
    const limit = (maxAttempts: number): number => Math.min(maxAttempts, plan.maxAttempts ?? Infinity);
    const failedByItself = new Set<string>();
    /** The latest lease of these expired because the renewals of a living process had to wait. */
    const starved = new Set<string>();

    const isStarved = ({ leasedBy, leasedUntil, leaseMs }: StateJob): boolean => {
      // Two leases back: a worker that has given up on a lease does not take back a renewal that succeeds too late.
      const since = leasedUntil! - 2 * (leaseMs ?? plan.leaseMs);
      const faults = faultsOf(processOf(leasedBy!), since, leasedUntil!);
      return faults.some(isLasting) && faults.every(({ until }) => until !== Infinity);
    };

    const noteExpired = (row: StateJob): void => {
      if (isStarved(row)) starved.add(row.id);
      else starved.delete(row.id);
    };

    return {
      onStep: ({ method, call, changes }) => {
        if (!applies) return;
        for (const { before } of changes) {
          if (before?.status === "running" && (method === "claimJobs" || method === "reapExpiredLeases"))
            noteExpired(before);
        }
        if (method === "commitOutcomes") {
          for (const { jobId, kind } of call["outcomes"] as readonly JobOutcome[]) {
            if (kind === "retry") failedByItself.add(jobId);
          }
        }
        for (const { before, after } of changes) {
          if (before?.failureReason === after?.failureReason || after?.failureReason !== "attempts_exhausted")
            continue;
          const ranOut = method === "reapExpiredLeases" || after.attempt > limit(after.maxAttempts);
          if (!ranOut || limit(after.maxAttempts) < 2) continue;
          if (failedByItself.has(after.id) || starved.has(after.id)) continue;
          if (after.input.includes('"poison"')) continue;
          report(`${short(after.id)} did nothing wrong and failed after ${after.attempt} attempts`);
        }
      },
    };
  },
};
