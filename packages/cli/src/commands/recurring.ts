import type { RecurringJob } from "leasehold";
import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { renderRecurringJob, renderRecurringJobs } from "../output/recurring-table.ts";
import { oneLine } from "../output/text.ts";
import type { AnyLeasehold } from "../store/store.ts";
import { type CommandContext, confirm } from "./context.ts";

export interface ListRecurringOptions {
  readonly owner?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export const listRecurring = async (
  context: CommandContext,
  options: ListRecurringOptions,
): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold }) => {
    const { output } = context;
    const page = await leasehold.recurring.list(options);
    if (output.json) output.printJson(page);
    else if (page.recurringJobs.length === 0) output.note("No recurring jobs.");
    else {
      output.print(renderRecurringJobs(output, page.recurringJobs));
      if (page.cursor !== null) output.note(`\nThere are more: add --cursor ${page.cursor}`);
    }
    return exitCodes.done;
  });

const notFound = (id: string): CliError =>
  new CliError("RecurringJobNotFound", `There is no recurring job with id ${JSON.stringify(id)}.`, {
    exitCode: exitCodes.notFound,
    hint: "Look for it with `leasehold recurring list`.",
  });

const print = ({ output }: CommandContext, job: RecurringJob<string>): void => {
  if (output.json) output.printJson(job);
  else output.print(renderRecurringJob(output, job));
};

export const showRecurring = async (context: CommandContext, id: string): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold }) => {
    const job = await leasehold.recurring.get({ id });
    if (job === undefined) throw notFound(id);
    print(context, job);
    return exitCodes.done;
  });

export interface PreviewOptions {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly count: number;
}

export const previewRecurring = async (
  context: CommandContext,
  id: string | undefined,
  { cron, timeZone, count }: PreviewOptions,
): Promise<ExitCode> =>
  context.withStore({}, async ({ leasehold }) => {
    const { output } = context;
    if ((id === undefined) === (cron === undefined)) {
      throw new CliError("Usage", "Name a recurring job, or pass --cron.", { exitCode: exitCodes.usage });
    }
    const times = await leasehold.recurring.preview(
      cron === undefined ? { id: id!, count } : { cron, timeZone, count },
    );
    if (output.json) output.printJson({ times });
    else for (const { local } of times) output.print(local);
    return exitCodes.done;
  });

export interface EditRecurringOptions {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly every?: number;
  readonly overlap?: "skip" | "queue_one" | "replace" | "allow";
  readonly catchUp?: "last" | "all" | "none";
  readonly catchUpWindow?: number;
  readonly jitter?: number;
  readonly input?: unknown;
  readonly dryRun: boolean;
  readonly yes?: boolean;
}

const shownTimes = 3;

/** The next times with the change; those of the stored definition if the times do not change. */
const timesWith = (
  leasehold: AnyLeasehold,
  { id, cron: before, timeZone: zone }: RecurringJob<string>,
  { cron = before ?? undefined, timeZone = zone ?? undefined, every }: EditRecurringOptions,
) => {
  const count = shownTimes;
  if (every !== undefined) return leasehold.recurring.preview({ everyMs: every, count });
  return leasehold.recurring.preview(cron === undefined ? { id, count } : { cron, timeZone, count });
};

/** Changes what is named of a recurring job. Shows its next times before it asks. */
export const editRecurring = async (
  context: CommandContext,
  id: string,
  options: EditRecurringOptions,
): Promise<ExitCode> =>
  context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const job = await leasehold.recurring.get({ id });
    if (job === undefined) throw notFound(id);
    const times = await timesWith(leasehold, job, options);
    if (!output.json) for (const { local } of times) output.note(`Next: ${local}`);
    if (job.owner !== null)
      output.warn(
        `The program ${oneLine(job.owner)} declares this recurring job, and puts its own definition back when it starts.`,
      );
    if (options.dryRun) {
      if (output.json) output.printJson({ dryRun: true, times });
      return exitCodes.done;
    }
    await confirm(output, `Change the recurring job ${oneLine(id)}?`, options);
    const { cron, timeZone, every, overlap, catchUp, catchUpWindow, jitter, input } = options;
    const changed = await leasehold.recurring.update({
      id,
      cron,
      timeZone,
      everyMs: every,
      overlap,
      catchUp,
      catchUpWindowMs: catchUpWindow,
      jitterMs: jitter,
      input,
      expectedVersion: job.version,
    });
    print(context, changed);
    return exitCodes.done;
  });

const setPaused = async (context: CommandContext, id: string, paused: boolean): Promise<ExitCode> =>
  context.withStore({ notifies: true }, async ({ leasehold }) => {
    print(context, await (paused ? leasehold.recurring.pause({ id }) : leasehold.recurring.resume({ id })));
    return exitCodes.done;
  });

export const pauseRecurring = (context: CommandContext, id: string): Promise<ExitCode> =>
  setPaused(context, id, true);

export const resumeRecurring = (context: CommandContext, id: string): Promise<ExitCode> =>
  setPaused(context, id, false);

const triggerTexts = {
  started: (sequenceId: string) => sequenceId,
  skipped: (sequenceId: string) => `Skipped: ${sequenceId} has not finished.`,
  waiting: () => "It begins when the last run has finished.",
} as const;

export const triggerRecurring = async (context: CommandContext, id: string): Promise<ExitCode> =>
  context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const triggered = await leasehold.recurring.trigger({ id });
    if (output.json) output.printJson(triggered);
    else output.print(triggerTexts[triggered.result](oneLine(triggered.sequenceId ?? "")));
    return triggered.result === "skipped" ? exitCodes.finding : exitCodes.done;
  });

export const deleteRecurring = async (
  context: CommandContext,
  id: string,
  { yes }: { readonly yes?: boolean },
): Promise<ExitCode> =>
  context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    if ((await leasehold.recurring.get({ id })) === undefined) throw notFound(id);
    await confirm(output, `Delete the recurring job ${oneLine(id)}?`, { yes });
    const result = await leasehold.recurring.delete({ id });
    if (output.json) output.printJson(result);
    else output.print(`${oneLine(id)}  deleted`);
    return exitCodes.done;
  });
