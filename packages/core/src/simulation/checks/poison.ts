import type { JobOutcome } from "../../store/contract/outcomes.ts";
import type { SimulationFault } from "../faults.ts";
import { type Check, processOf, short } from "./check.ts";

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
 * that happened to sit beside them. A job with a single attempt has none to prove its health with, and one that failed
 * by itself has used some up. Nor can a process be blamed for a claim whose answer reached it only after its death, or
 * so shortly before that it had no time to give the job back.
 */
export const poisonHarmsNobodyElse: Check = {
  invariant: "a poisonous job takes no neighbour along",
  watch: ({ plan, faultsOf, report }) => {
    const applies = Object.keys(plan.faults).every((kind) => harmless.has(kind));
    const limit = (maxAttempts: number): number => Math.min(maxAttempts, plan.maxAttempts ?? Infinity);
    const failedByItself = new Set<string>();
    const begun = new Set<string>();
    const claims = new Map<string, { readonly at: number; readonly process: string }>();

    /** How long the process had the job, if it died of it; undefined if it did not die. */
    const heldMs = (jobId: string): number | undefined => {
      const claim = claims.get(jobId);
      const death =
        claim && faultsOf(claim.process, claim.at, Infinity).find(({ until }) => until === Infinity);
      return death && death.at - claim.at;
    };
    // The answer to the claim travels, and so does the release, which may have to wait for others to be written.
    const noticeMs = 2 * plan.latencyMs + 150;
    const isExcused = (jobId: string): boolean => !begun.has(jobId) && !((heldMs(jobId) ?? 0) > noticeMs);

    return {
      onStep: ({ at, method, call, changes }) => {
        if (!applies) return;
        if (method === "commitOutcomes") {
          for (const { jobId, kind } of call["outcomes"] as readonly JobOutcome[]) {
            if (kind === "retry") failedByItself.add(jobId);
          }
        }
        for (const { before, after } of changes) {
          if (after && before && before.leaseVersion !== after.leaseVersion) {
            begun.delete(after.id);
            claims.set(after.id, { at, process: processOf(after.leasedBy!) });
          }
          if (before?.failureReason === after?.failureReason || after?.failureReason !== "attempts_exhausted")
            continue;
          const ranOut = method === "reapExpiredLeases" || after.attempt > limit(after.maxAttempts);
          if (!ranOut || limit(after.maxAttempts) < 2 || failedByItself.has(after.id) || isExcused(after.id))
            continue;
          if (after.input.includes('"poison"')) continue;
          report(`${short(after.id)} did nothing wrong and failed after ${after.attempt} attempts`);
        }
      },
      onEvent: (event) => {
        if (event.kind === "execution_started") begun.add(event.jobId);
      },
    };
  },
};
