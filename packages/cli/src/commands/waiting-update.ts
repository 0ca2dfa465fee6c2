import type { AnyJob, UpdateWaitingJobsReport } from "leasehold";
import { CliError } from "../cli-error.ts";
import { type CommandContext, confirm } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { type JobChoice, readChoice, type ReadChoice } from "../options/job-choice.ts";
import { plural } from "leasehold/adapter";
import { findJobs } from "../store/find-job.ts";
import type { AnyLeasehold } from "../store/store.ts";

export interface WaitingChange {
  readonly at?: { readonly at: Date } | { readonly afterMs: number };
  readonly priority?: number;
  readonly input?: unknown;
}

type Change = Omit<Parameters<AnyLeasehold["updateWaitingJobs"]>[0], "ids" | "filter">;
type Report = Omit<UpdateWaitingJobsReport<string>, "cursor">;

const skipTexts: Readonly<Record<Report["skipped"][number]["reason"], string>> = {
  not_found: "does not exist",
  not_waiting: "does not wait",
  other_type: "is of another type than the input is for",
};

/** The library checks an input by the type of the job, so there must be one. */
const typeOfInput = (jobs: readonly AnyJob[], { type }: JobChoice): string => {
  const names = new Set(jobs.length > 0 ? jobs.map(({ typeName }) => typeName) : type);
  if (names.size === 1) return [...names][0]!;
  throw new CliError("Usage", "An input is for jobs of one type.", {
    hint: "Name jobs of one type, or choose them with one --type.",
  });
};

const toChange = ({ at, priority, input }: WaitingChange, typeName: () => string): Change => {
  if (at === undefined && priority === undefined && input === undefined) {
    throw new CliError("Usage", "There is nothing to change.", {
      hint: "Give at least one of --at, --priority and --input.",
    });
  }
  return {
    schedule: at,
    priority,
    ...(input === undefined ? {} : { typeName: typeName(), input }),
  };
};

/** Portion by portion, so that any number can be changed. */
const updateAll = async (
  leasehold: AnyLeasehold,
  ids: readonly string[],
  { filter, limit = Number.MAX_SAFE_INTEGER }: ReadChoice,
  change: Change,
  dryRun: boolean,
): Promise<Report> => {
  if (filter === undefined)
    return ids.length === 0
      ? { updated: [], skipped: [] }
      : leasehold.updateWaitingJobs({ ...change, ids, dryRun } as never);
  const updated: Report["updated"][number][] = [];
  const skipped: Report["skipped"][number][] = [];
  let cursor: string | null = null;
  do {
    const room = Math.min(10_000, limit - updated.length);
    const options = { ...change, filter, dryRun, limit: room, cursor };
    const report: UpdateWaitingJobsReport<string> = await leasehold.updateWaitingJobs(options as never);
    updated.push(...report.updated);
    skipped.push(...report.skipped);
    cursor = report.cursor;
  } while (cursor !== null && updated.length < limit);
  return { updated, skipped };
};

const show = ({ output }: CommandContext, { updated, skipped }: Report, dryRun: boolean): void => {
  if (output.json) return output.printJson({ dryRun, updated, skipped });
  for (const { jobId, reason, status } of skipped)
    output.note(`${jobId} skipped: it ${skipTexts[reason]}${status === null ? "" : ` (${status})`}.`);
  output.print(`${dryRun ? "Would change" : "Changed"} ${plural(updated.length, "job")}.`);
};

export const updateWaiting = async (
  context: CommandContext,
  ids: readonly string[],
  options: JobChoice & WaitingChange,
): Promise<ExitCode> => {
  const choice = readChoice(ids, options);
  return context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const { jobs, missing } = await findJobs(leasehold, ids);
    const change = toChange(options, () => typeOfInput(jobs, options));
    const found = jobs.map(({ id }) => id);
    const update = async (dryRun: boolean): Promise<Report> => {
      const { updated, skipped } = await updateAll(leasehold, found, choice, change, dryRun);
      const unknown = missing.map((jobId) => ({ jobId, reason: "not_found", status: null }) as const);
      return { updated, skipped: [...skipped, ...unknown] };
    };
    const exitCode = missing.length > 0 ? exitCodes.notFound : exitCodes.done;
    if (options.dryRun || options.yes !== true) {
      const plan = await update(true);
      if (options.dryRun || plan.updated.length === 0) {
        show(context, plan, options.dryRun);
        return exitCode;
      }
      await confirm(output, `Change ${plural(plan.updated.length, "job")}?`, options);
    }
    show(context, await update(false), false);
    return exitCode;
  });
};
