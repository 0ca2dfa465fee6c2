import type { JobOutcome, OutcomeResult } from "../../store/contract/outcomes.ts";
import type { StateJob } from "../../store/contract/job.ts";
import { bundleError, bundleOutput } from "../batch-behaviours.ts";
import { type Check, short } from "./check.ts";

const isBundle = (row: StateJob | undefined): row is StateJob => row?.typeName === "bundle";

/**
 * Each job of a batch has exactly one outcome, and it is its own: not the output of a neighbour, nor the end by an error that
 * was about a neighbour.
 */
export const batchesKeepJobsApart: Check = {
  invariant: "12 each job of a batch has exactly one outcome, its own",
  watch: ({ table, report }) => {
    const ended = new Set<string>();

    const checkOwn = (row: StateJob): void => {
      const { id, status, output, lastError, failureReason } = row;
      if (status === "completed" && output !== null && output.includes("done: ")) {
        if (output !== JSON.stringify(bundleOutput(id))) report(`${short(id)} has the output ${output}`);
      }
      const isJudged = failureReason === "attempts_exhausted" || failureReason === "unrecoverable";
      if (status !== "failed" || !isJudged || !lastError?.includes(bundleError(""))) return;
      if (!lastError.includes(bundleError(id)))
        report(`${short(id)} failed for good: ${lastError.slice(0, 200)}`);
    };

    return {
      onStep: ({ method, call, result, changes }) => {
        if (method !== "commitOutcomes") return;
        for (const [index, { jobId, leaseToken }] of (call["outcomes"] as readonly JobOutcome[]).entries()) {
          if ((result as readonly OutcomeResult[])[index]!.kind !== "applied") continue;
          const row = table.rows.get(jobId);
          if (!isBundle(row) || leaseToken === null) continue;
          const lease = `${jobId} ${row.leaseVersion}`;
          if (ended.has(lease)) report(`lease ${row.leaseVersion} of ${short(jobId)} ended twice`);
          ended.add(lease);
        }
        for (const { after } of changes) if (isBundle(after)) checkOwn(after);
      },
    };
  },
};
