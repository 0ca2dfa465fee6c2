import type { RedriveReport } from "leasehold";
import { type CommandContext, confirm } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { type FailedChoice, readChoice } from "../options/failed-choice.ts";
import { plural } from "../output/amounts.ts";
import type { Output } from "../output/output.ts";
import { findJob } from "../store/find-job.ts";
import type { AnyLeasehold } from "../store/store.ts";

const skipTexts: Readonly<Record<RedriveReport<string>["skipped"][number]["reason"], string>> = {
  not_found: "does not exist",
  not_failed: "has not failed",
  blocker_failed: "waits for a sequence that has failed itself: redrive that one",
  blocker_cycle: "would wait for itself",
  duplicate_live: "has a successor with the same deduplication key that is not finished",
};

const revivedOf = ({ redriven }: RedriveReport<string>): number =>
  redriven.reduce((sum, { revivedJobIds }) => sum + revivedJobIds.length, 0);

const show = (output: Output, report: RedriveReport<string>, dryRun: boolean): void => {
  const { redriven, skipped } = report;
  if (output.json) return output.printJson({ dryRun, redriven, skipped });
  for (const { jobId, reason } of skipped) output.note(`${jobId} skipped: it ${skipTexts[reason]}.`);
  const revived = revivedOf(report);
  const also = revived === 0 ? "" : ` and ${plural(revived, "job")} that had failed because of them`;
  output.print(`${dryRun ? "Would redrive" : "Redrove"} ${plural(redriven.length, "job")}${also}.`);
};

/** Ids that cannot be one in this store are left out of the call, which would fail as a whole. */
const splitIds = async (
  leasehold: AnyLeasehold,
  ids: readonly string[],
): Promise<{ readonly known: string[]; readonly missing: RedriveReport<string>["skipped"] }> => {
  const jobs = await Promise.all(ids.map((id) => findJob(leasehold, id)));
  return {
    known: jobs.flatMap((job) => (job === undefined ? [] : [job.id])),
    missing: ids
      .filter((_id, index) => jobs[index] === undefined)
      .map((jobId) => ({ jobId, reason: "not_found" as const })),
  };
};

export const redriveFailed = async (
  context: CommandContext,
  ids: readonly string[],
  choice: FailedChoice,
): Promise<ExitCode> => {
  const { filter, limit } = readChoice(ids, choice);
  return context.withStore({ hints: true }, async ({ leasehold }) => {
    const { output } = context;
    const { known, missing } = await splitIds(leasehold, ids);
    const redrive = async (dryRun: boolean): Promise<RedriveReport<string>> => {
      if (filter !== undefined) return leasehold.redriveJobs({ filter, limit, dryRun });
      if (known.length === 0) return { redriven: [], skipped: missing };
      const report = await leasehold.redriveJobs({ ids: known, dryRun });
      return { ...report, skipped: [...report.skipped, ...missing] };
    };
    const plan = await redrive(true);
    if (choice.dryRun || plan.redriven.length === 0) show(output, plan, choice.dryRun);
    else {
      await confirm(output, `Redrive ${plural(plan.redriven.length, "job")}?`, choice);
      show(output, await redrive(false), false);
    }
    return plan.skipped.some(({ reason }) => reason === "not_found") ? exitCodes.notFound : exitCodes.done;
  });
};
