import type { JobOutcome, OutcomeResult } from "../../store/contract/outcomes.ts";
import { type Check, type EventOf, short } from "./check.ts";

type Ending = Pick<EventOf<"execution_ended">, "ending" | "abortReason">;

/** What an attempt that ended in this way must not be recorded as. */
const isWrong = ({ ending, abortReason }: Ending, kind: JobOutcome["kind"]): boolean =>
  (abortReason === "timeout" && ending === "returned" && kind === "complete") ||
  (abortReason === "shutdown" && ending === "threw" && kind !== "release");

/** A result that comes after the timeout is too late, and an attempt cut short by a shutdown costs nothing. */
export const endingsAreJudgedRight: Check = {
  invariant: "late results are refused and attempts cut short are given back",
  watch: ({ table, report }) => {
    const leaseOf = new Map<number, string>();
    const endings = new Map<string, Ending>();

    return {
      onStep: ({ method, call, result, changes }) => {
        if (method !== "commitOutcomes") return;
        const versions = new Map(changes.map(({ after }) => [after?.id, after?.leaseVersion]));
        for (const [index, { jobId, leaseToken, kind }] of (
          call["outcomes"] as readonly JobOutcome[]
        ).entries()) {
          if (leaseToken === null || (result as readonly OutcomeResult[])[index]!.kind !== "applied")
            continue;
          const ending = endings.get(`${jobId} ${versions.get(jobId)}`);
          if (!ending || !isWrong(ending, kind)) continue;
          report(
            `${short(jobId)} ${ending.ending} after its signal said ${ending.abortReason}; recorded as ${kind}`,
          );
        }
      },
      onEvent: (event) => {
        if (event.kind === "execution_started") {
          const row = table.rows.get(event.jobId);
          const isOwn = row?.leasedBy === event.workerId && row.attempt === event.attempt;
          if (isOwn) leaseOf.set(event.execution, `${event.jobId} ${row.leaseVersion}`);
        }
        if (event.kind === "execution_ended") {
          const lease = leaseOf.get(event.execution);
          if (lease) endings.set(lease, event);
        }
      },
    };
  },
};
