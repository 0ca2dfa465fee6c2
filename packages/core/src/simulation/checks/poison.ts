import type { JobOutcome } from "../../store/contract/outcomes.ts";
import type { SimulationFault } from "../faults.ts";
import { type Check, short } from "./check.ts";

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
 * has failed has used some up.
 */
export const poisonHarmsNobodyElse: Check = {
  invariant: "a poisonous job takes no neighbour along",
  watch: ({ plan, report }) => {
    const applies = Object.keys(plan.faults).every((kind) => harmless.has(kind));
    const limit = (maxAttempts: number): number => Math.min(maxAttempts, plan.maxAttempts ?? Infinity);
    const failedByItself = new Set<string>();

    return {
      onStep: ({ method, call, changes }) => {
        if (!applies) return;
        if (method === "commitOutcomes") {
          for (const { jobId, kind } of call["outcomes"] as readonly JobOutcome[]) {
            if (kind === "retry") failedByItself.add(jobId);
          }
        }
        for (const { before, after } of changes) {
          if (before?.failureReason === after?.failureReason || after?.failureReason !== "attempts_exhausted")
            continue;
          const ranOut = method === "reapExpiredLeases" || after.attempt > limit(after.maxAttempts);
          if (!ranOut || limit(after.maxAttempts) < 2 || failedByItself.has(after.id)) continue;
          if (after.input.includes('"poison"')) continue;
          report(`${short(after.id)} did nothing wrong and failed after ${after.attempt} attempts`);
        }
      },
    };
  },
};
