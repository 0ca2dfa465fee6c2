import {
  type AnyJob,
  JobSequenceHasDependantsError,
  type RedriveReport,
  type UpdateWaitingJobsReport,
} from "leasehold";
import { plural } from "leasehold/adapter";
import { type JobChoice, readChoice, type ReadChoice } from "../options/job-choice.ts";
import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { renderJobs } from "../output/job-tables.ts";
import { createProgress } from "../output/output.ts";
import { findJobs } from "../store/find-job.ts";
import { eachPageOfJobs } from "../store/job-pages.ts";
import type { AnyLeasehold } from "../store/store.ts";
import { type CommandContext, confirm } from "./context.ts";

export interface CancelChoice extends Omit<JobChoice, "reason"> {
  readonly reason?: string;
}

const outcomeTexts = {
  cancelled: "cancelled",
  would_cancel: "would be cancelled",
  already_completed: "had completed already",
  already_failed: "had failed already",
  not_found: "does not exist",
} as const;

interface Outcome {
  readonly id: string;
  readonly outcome: keyof typeof outcomeTexts;
}

const foresee = async (leasehold: AnyLeasehold, id: string): Promise<Outcome> => {
  const status = (await leasehold.jobs.getSequence({ id }))?.status;
  if (status === undefined) return { id, outcome: "not_found" };
  return {
    id,
    outcome:
      status === "completed" ? "already_completed" : status === "failed" ? "already_failed" : "would_cancel",
  };
};

const batchSize = 500;

const inBatches = async (
  ids: readonly string[],
  work: (batch: readonly string[]) => Promise<readonly Outcome[]>,
): Promise<readonly Outcome[]> => {
  const outcomes: Outcome[] = [];
  for (let start = 0; start < ids.length; start += batchSize)
    outcomes.push(...(await work(ids.slice(start, start + batchSize))));
  return outcomes;
};

/** Takes ids of sequences, and of any job in one, or a filter of jobs that are not finished. */
export const cancel = async (
  context: CommandContext,
  ids: readonly string[],
  { reason, ...choice }: CancelChoice,
): Promise<ExitCode> => {
  const { filter, limit } = readChoice(ids, choice);
  const { dryRun, yes } = choice;
  return context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const { jobs, missing } = await findJobs(leasehold, ids);
    const chosen = new Set(jobs.map((job) => job.sequenceId));
    if (filter !== undefined)
      for await (const page of eachPageOfJobs(leasehold, ["blocked", "pending", "running"], filter, limit))
        for (const job of page) chosen.add(job.sequenceId);
    const sequenceIds = [...chosen];
    const cancelAll = async (): Promise<readonly Outcome[]> => {
      if (sequenceIds.length === 0) return [];
      if (dryRun)
        return inBatches(sequenceIds, (batch) => Promise.all(batch.map((id) => foresee(leasehold, id))));
      await confirm(output, `Cancel ${plural(sequenceIds.length, "sequence")}?`, { yes, dryRun });
      return inBatches(sequenceIds, (batch) => leasehold.jobs.cancel({ ids: batch, reason }));
    };
    const results = [...(await cancelAll()), ...missing.map((id) => ({ id, outcome: "not_found" as const }))];
    if (output.json) output.printJson({ dryRun, results });
    else if (results.length === 0) output.note("No jobs.");
    else for (const { id, outcome } of results) output.print(`${id}  ${outcomeTexts[outcome]}`);
    return results.some(({ outcome }) => outcome === "not_found") ? exitCodes.notFound : exitCodes.done;
  });
};

export interface Skipped {
  readonly id: string;
  readonly reason: "not_found" | "not_failed" | "unfinished" | "has_dependants";
}

/** What is to be deleted, and what was set aside already. */
export interface Chosen {
  readonly jobs: readonly AnyJob[];
  readonly skipped: readonly Skipped[];
}

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
}

/** Which jobs to delete, and how. */
export interface DeleteChoice extends JobChoice {
  readonly force?: boolean;
}

interface Tree {
  readonly rootSequenceId: string;
  readonly jobs: number;
}

const skipTexts: Readonly<Record<Skipped["reason"], string>> = {
  not_found: "there is no such job",
  not_failed: "the job has not failed",
  unfinished: "other jobs of its tree are not finished (--force deletes them too)",
  has_dependants: "jobs of another tree wait for it",
};

const batchSizeDeleteTrees = 200;

const mostListed = 50;

/** Jobs are deleted with the whole tree they belong to: what was started from one another goes together. */
const chooseTrees = async (
  leasehold: AnyLeasehold,
  jobs: readonly AnyJob[],
  force: boolean,
): Promise<{ readonly trees: Tree[]; readonly skipped: Skipped[] }> => {
  const trees: Tree[] = [];
  const skipped: Skipped[] = [];
  for (const rootSequenceId of new Set(jobs.map((job) => job.rootSequenceId))) {
    const counts = await leasehold.jobs.count({ rootSequenceId });
    const unfinished = counts.some(({ status }) => status !== "completed" && status !== "failed");
    if (unfinished && !force) skipped.push({ id: rootSequenceId, reason: "unfinished" });
    else trees.push({ rootSequenceId, jobs: counts.reduce((sum, { count }) => sum + count, 0) });
  }
  return { trees, skipped };
};

const deleteTrees = async (
  leasehold: AnyLeasehold,
  roots: readonly string[],
): Promise<{ readonly deletedJobs: number; readonly skipped: Skipped[] }> => {
  try {
    return { ...(await leasehold.deleteJobSequences({ rootSequenceIds: roots })), skipped: [] };
  } catch (error) {
    if (!(error instanceof JobSequenceHasDependantsError)) throw error;
    if (roots.length === 1) return { deletedJobs: 0, skipped: [{ id: roots[0]!, reason: "has_dependants" }] };
  }
  // One that cannot go keeps the others of its call: try them by themselves.
  const results = [];
  for (const root of roots) results.push(await deleteTrees(leasehold, [root]));
  return {
    deletedJobs: results.reduce((sum, { deletedJobs }) => sum + deletedJobs, 0),
    skipped: results.flatMap(({ skipped }) => skipped),
  };
};

/** Deletes the trees that jobs belong to, for good. */
export const deleteJobs = async (
  { output }: CommandContext,
  leasehold: AnyLeasehold,
  chosen: Chosen,
  { dryRun, force, yes }: DeleteOptions,
): Promise<ExitCode> => {
  const { trees, skipped: unfinished } = await chooseTrees(leasehold, chosen.jobs, force === true);
  const skipped = [...chosen.skipped, ...unfinished];
  const jobsInTrees = trees.reduce((sum, { jobs }) => sum + jobs, 0);
  let deletedJobs = dryRun ? jobsInTrees : 0;
  if (!dryRun && trees.length > 0) {
    const what = `${plural(jobsInTrees, "job")} in ${plural(trees.length, "tree")}`;
    await confirm(output, `Delete ${what} for good?`, { yes, dryRun });
    const progress = createProgress(output);
    for (let start = 0; start < trees.length; start += batchSizeDeleteTrees) {
      const roots = trees
        .slice(start, start + batchSizeDeleteTrees)
        .map(({ rootSequenceId }) => rootSequenceId);
      const result = await deleteTrees(leasehold, roots);
      deletedJobs += result.deletedJobs;
      skipped.push(...result.skipped);
      progress.update("deleting", start + roots.length, trees.length);
    }
    progress.end();
  }
  if (output.json) {
    output.printJson({
      dryRun,
      deletedJobs,
      trees: trees.length,
      skipped,
      ...(dryRun ? { plan: trees } : {}),
    });
  } else {
    for (const { id, reason } of skipped) output.note(`${id} skipped: ${skipTexts[reason]}.`);
    if (dryRun) {
      for (const { rootSequenceId, jobs } of trees.slice(0, mostListed))
        output.print(`${rootSequenceId}  ${plural(jobs, "job")}`);
      if (trees.length > mostListed) output.print(`and ${plural(trees.length - mostListed, "more tree")}`);
    }
    output.print(`${dryRun ? "Would delete" : "Deleted"} ${plural(deletedJobs, "job")}.`);
  }
  return skipped.some(({ reason }) => reason === "not_found") ? exitCodes.notFound : exitCodes.done;
};

/** Takes ids of sequences, and of any job in one, or a filter of finished jobs. */
export const deleteFinished = async (
  context: CommandContext,
  ids: readonly string[],
  choice: DeleteChoice,
): Promise<ExitCode> => {
  const { filter, limit } = readChoice(ids, choice);
  return context.withStore({}, async ({ leasehold }) => {
    const { jobs: named, missing } = await findJobs(leasehold, ids);
    const jobs: AnyJob[] = [...named];
    if (filter !== undefined)
      for await (const page of eachPageOfJobs(leasehold, ["completed", "failed"], filter, limit))
        jobs.push(...page);
    const skipped = missing.map((id) => ({ id, reason: "not_found" as const }));
    return deleteJobs(context, leasehold, { jobs, skipped }, choice);
  });
};

const chooseJobs = async (
  leasehold: AnyLeasehold,
  ids: readonly string[],
  { filter, limit }: ReadChoice,
): Promise<Chosen> => {
  if (filter !== undefined) {
    const jobs = [];
    for await (const page of eachPageOfJobs(leasehold, ["failed"], filter, limit)) jobs.push(...page);
    return { jobs, skipped: [] };
  }
  const { jobs, missing } = await findJobs(leasehold, ids);
  const isFailed = ({ status }: (typeof jobs)[number]): boolean => status === "failed";
  return {
    jobs: jobs.filter(isFailed),
    skipped: [
      ...missing.map((id) => ({ id, reason: "not_found" as const })),
      ...jobs.filter((job) => !isFailed(job)).map(({ id }) => ({ id, reason: "not_failed" as const })),
    ],
  };
};

export const deleteFailed = async (
  context: CommandContext,
  ids: readonly string[],
  choice: DeleteChoice,
): Promise<ExitCode> => {
  const read = readChoice(ids, choice);
  return context.withStore({}, async ({ leasehold }) =>
    deleteJobs(context, leasehold, await chooseJobs(leasehold, ids, read), choice),
  );
};

type Report = Omit<RedriveReport<string>, "cursor">;

const skipTextsFailedRedrive: Readonly<Record<Report["skipped"][number]["reason"], string>> = {
  not_found: "does not exist",
  not_failed: "has not failed",
  blocker_failed: "waits for a sequence that has failed itself: redrive that one",
  blocker_cycle: "would wait for itself",
  duplicate_live: "has a successor with the same deduplication key that is not finished",
};

export interface RedriveChoice extends JobChoice {
  readonly at?: { readonly at: Date } | { readonly afterMs: number };
}

const mostListedFailedRedrive = 50;

interface OutcomeFailedRedrive extends Report {
  /** A sample of the redriven jobs, for the output. */
  readonly examples: readonly AnyJob[];
}

/** Page by page, so that any number can be redriven. */
const redriveAll = async (
  leasehold: AnyLeasehold,
  pages: AsyncIterable<readonly AnyJob[]> | Iterable<readonly AnyJob[]>,
  { dryRun, at }: { readonly dryRun: boolean; readonly at: RedriveChoice["at"] },
): Promise<OutcomeFailedRedrive> => {
  const redriven: Report["redriven"][number][] = [];
  const skipped: Report["skipped"][number][] = [];
  const examples: AnyJob[] = [];
  for await (const jobs of pages) {
    if (jobs.length === 0) continue;
    const report = await leasehold.jobs.redrive({ ids: jobs.map(({ id }) => id), dryRun, schedule: at });
    redriven.push(...report.redriven);
    skipped.push(...report.skipped);
    const alive = new Set(report.redriven.map(({ jobId }) => jobId));
    if (examples.length < mostListedFailedRedrive) examples.push(...jobs.filter(({ id }) => alive.has(id)));
  }
  // One that was revived with another of an earlier page is no longer failed when its own page comes.
  const revived = new Set(redriven.flatMap(({ revivedJobIds }) => revivedJobIds));
  return {
    redriven,
    skipped: skipped.filter(({ jobId, reason }) => reason !== "not_failed" || !revived.has(jobId)),
    examples: examples.slice(0, mostListedFailedRedrive),
  };
};

/** Each job once, whether it was chosen, revived with another one, or both. */
const countOf = ({ redriven }: Report): { readonly all: number; readonly revived: number } => {
  const chosen = new Set(redriven.map(({ jobId }) => jobId));
  const all = new Set([...chosen, ...redriven.flatMap(({ revivedJobIds }) => revivedJobIds)]);
  return { all: all.size, revived: all.size - chosen.size };
};

const show = ({ output }: CommandContext, outcome: OutcomeFailedRedrive, dryRun: boolean): void => {
  const { redriven, skipped, examples } = outcome;
  const { all, revived } = countOf(outcome);
  if (output.json) return output.printJson({ dryRun, jobs: all, redriven, skipped });
  for (const { jobId, reason } of skipped)
    output.note(`${jobId} skipped: it ${skipTextsFailedRedrive[reason]}.`);
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
    const redrive = async (dryRun: boolean): Promise<OutcomeFailedRedrive> => {
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

export interface WaitingChange {
  readonly at?: { readonly at: Date } | { readonly afterMs: number };
  readonly priority?: number;
  readonly input?: unknown;
}

type Change = Omit<Parameters<AnyLeasehold["jobs"]["update"]>[0], "ids" | "filter">;

type ReportWaitingUpdate = Omit<UpdateWaitingJobsReport<string>, "cursor">;

const skipTextsWaitingUpdate: Readonly<Record<ReportWaitingUpdate["skipped"][number]["reason"], string>> = {
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
): Promise<ReportWaitingUpdate> => {
  if (filter === undefined)
    return ids.length === 0
      ? { updated: [], skipped: [] }
      : leasehold.jobs.update({ ...change, ids, dryRun } as never);
  const updated: ReportWaitingUpdate["updated"][number][] = [];
  const skipped: ReportWaitingUpdate["skipped"][number][] = [];
  let cursor: string | null = null;
  do {
    const room = Math.min(10_000, limit - updated.length);
    const options = { ...change, filter, dryRun, limit: room, cursor };
    const report: UpdateWaitingJobsReport<string> = await leasehold.jobs.update(options as never);
    updated.push(...report.updated);
    skipped.push(...report.skipped);
    cursor = report.cursor;
  } while (cursor !== null && updated.length < limit);
  return { updated, skipped };
};

const showWaitingUpdate = (
  { output }: CommandContext,
  { updated, skipped }: ReportWaitingUpdate,
  dryRun: boolean,
): void => {
  if (output.json) return output.printJson({ dryRun, updated, skipped });
  for (const { jobId, reason, status } of skipped)
    output.note(
      `${jobId} skipped: it ${skipTextsWaitingUpdate[reason]}${status === null ? "" : ` (${status})`}.`,
    );
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
    const update = async (dryRun: boolean): Promise<ReportWaitingUpdate> => {
      const { updated, skipped } = await updateAll(leasehold, found, choice, change, dryRun);
      const unknown = missing.map((jobId) => ({ jobId, reason: "not_found", status: null }) as const);
      return { updated, skipped: [...skipped, ...unknown] };
    };
    const exitCode = missing.length > 0 ? exitCodes.notFound : exitCodes.done;
    if (options.dryRun || options.yes !== true) {
      const plan = await update(true);
      if (options.dryRun || plan.updated.length === 0) {
        showWaitingUpdate(context, plan, options.dryRun);
        return exitCode;
      }
      await confirm(output, `Change ${plural(plan.updated.length, "job")}?`, options);
    }
    showWaitingUpdate(context, await update(false), false);
    return exitCode;
  });
};
