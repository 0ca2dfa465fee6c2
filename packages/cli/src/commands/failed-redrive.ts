import type { AnyJob, RedriveReport } from "leasehold";
import { type CommandContext, confirm } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { type JobChoice, readChoice } from "../options/job-choice.ts";
import { plural } from "leasehold/adapter";
import { renderJobs } from "../output/job-table.ts";
import { eachPageOfJobs } from "../store/job-pages.ts";
import { findJobs } from "../store/find-job.ts";
import type { AnyLeasehold } from "../store/store.ts";

type Report = Omit<RedriveReport<string>, "cursor">;

const skipTexts: Readonly<Record<Report["skipped"][number]["reason"], string>> = {
  not_found: "does not exist",
  not_failed: "has not failed",
  blocker_failed: "waits for a sequence that has failed itself: redrive that one",
  blocker_cycle: "would wait for itself",
  duplicate_live: "has a successor with the same deduplication key that is not finished",
};

export interface RedriveChoice extends JobChoice {
  readonly at?: { readonly at: Date } | { readonly afterMs: number };
}

const mostListed = 50;

interface Outcome extends Report {
  /** Some of those that were redriven, to be shown. */
  readonly examples: readonly AnyJob[];
}

/** Page by page, so that any number can be redriven. */
const redriveAll = async (
  leasehold: AnyLeasehold,
  pages: AsyncIterable<readonly AnyJob[]> | Iterable<readonly AnyJob[]>,
  { dryRun, at }: { readonly dryRun: boolean; readonly at: RedriveChoice["at"] },
): Promise<Outcome> => {
  const redriven: Report["redriven"][number][] = [];
  const skipped: Report["skipped"][number][] = [];
  const examples: AnyJob[] = [];
  for await (const jobs of pages) {
    if (jobs.length === 0) continue;
    const report = await leasehold.redriveJobs({ ids: jobs.map(({ id }) => id), dryRun, schedule: at });
    redriven.push(...report.redriven);
    skipped.push(...report.skipped);
    const alive = new Set(report.redriven.map(({ jobId }) => jobId));
    if (examples.length < mostListed) examples.push(...jobs.filter(({ id }) => alive.has(id)));
  }
  // One that was revived with another of an earlier page is no longer failed when its own page comes.
  const revived = new Set(redriven.flatMap(({ revivedJobIds }) => revivedJobIds));
  return {
    redriven,
    skipped: skipped.filter(({ jobId, reason }) => reason !== "not_failed" || !revived.has(jobId)),
    examples: examples.slice(0, mostListed),
  };
};

/** Each job once, whether it was chosen, revived with another one, or both. */
const countOf = ({ redriven }: Report): { readonly all: number; readonly revived: number } => {
  const chosen = new Set(redriven.map(({ jobId }) => jobId));
  const all = new Set([...chosen, ...redriven.flatMap(({ revivedJobIds }) => revivedJobIds)]);
  return { all: all.size, revived: all.size - chosen.size };
};

const show = ({ output }: CommandContext, outcome: Outcome, dryRun: boolean): void => {
  const { redriven, skipped, examples } = outcome;
  const { all, revived } = countOf(outcome);
  if (output.json) return output.printJson({ dryRun, jobs: all, redriven, skipped });
  for (const { jobId, reason } of skipped) output.note(`${jobId} skipped: it ${skipTexts[reason]}.`);
  if (dryRun && examples.length > 0) {
    output.print(renderJobs(output, examples));
    const more = redriven.length - examples.length;
    if (more > 0) output.print(`and ${plural(more, "more job")}`);
  }
  const parts =
    revived === 0
      ? ""
      : `: ${redriven.length} that were chosen, and ${revived} that had failed because of them`;
  output.print(`${dryRun ? "Would redrive" : "Redrove"} ${plural(all, "job")}${parts}.`);
};

export const redriveFailed = async (
  context: CommandContext,
  ids: readonly string[],
  choice: RedriveChoice,
): Promise<ExitCode> => {
  const { filter, limit } = readChoice(ids, choice);
  return context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const found = await findJobs(leasehold, ids);
    const missing = found.missing.map((jobId) => ({ jobId, reason: "not_found" as const }));
    const redrive = async (dryRun: boolean): Promise<Outcome> => {
      const pages =
        filter === undefined ? [found.jobs] : eachPageOfJobs(leasehold, ["failed"], filter, limit);
      const outcome = await redriveAll(leasehold, pages, { dryRun, at: choice.at });
      return { ...outcome, skipped: [...outcome.skipped, ...missing] };
    };
    const exitCode = missing.length > 0 ? exitCodes.notFound : exitCodes.done;
    if (choice.dryRun || choice.yes !== true) {
      const plan = await redrive(true);
      if (choice.dryRun || plan.redriven.length === 0) {
        show(context, plan, choice.dryRun);
        return exitCode;
      }
      await confirm(output, `Redrive ${plural(countOf(plan).all, "job")}?`, choice);
    }
    show(context, await redrive(false), false);
    return exitCode;
  });
};
