import {
  type AnyJob,
  type CancelReport,
  type ChangeReport,
  type DeleteReport,
  type RedriveReport,
  type UpdateReport,
} from "leasehold";
import { plural } from "leasehold/adapter";
import { type JobChoice, readChoice, type ReadChoice } from "../options/job-choice.ts";
import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { renderJobs } from "../output/job-tables.ts";
import { findJobs } from "../store/find-job.ts";
import type { AnyLeasehold } from "../store/store.ts";
import { type CommandContext, confirm } from "./context.ts";

type Changed<TReport> = TReport extends ChangeReport<infer TChanged, unknown> ? TChanged : never;

type Skipped<TReport> = TReport extends ChangeReport<unknown, infer TSkipped> ? TSkipped : never;

interface Outcome<TChanged, TSkipped> {
  readonly changed: readonly TChanged[];
  readonly skipped: readonly TSkipped[];
}

type ByFilter = NonNullable<ReadChoice["filter"]>;

const mostAtOnce = 10_000;

/** Calls an operation with a filter until it has no more jobs, or the limit is reached. */
const throughFilter = async <TChanged, TSkipped>(
  filter: ByFilter,
  limit: number | undefined,
  call: (choice: {
    readonly filter: ByFilter;
    readonly limit: number;
    readonly cursor: string | null;
  }) => Promise<ChangeReport<TChanged, TSkipped>>,
): Promise<Outcome<TChanged, TSkipped>> => {
  const changed: TChanged[] = [];
  const skipped: TSkipped[] = [];
  let left = limit ?? Infinity;
  let cursor: string | null = null;
  do {
    const portion = Math.min(mostAtOnce, left);
    const report: ChangeReport<TChanged, TSkipped> = await call({ filter, limit: portion, cursor });
    left -= portion;
    changed.push(...report.changed);
    skipped.push(...report.skipped);
    cursor = report.cursor;
  } while (cursor !== null && left > 0);
  return { changed, skipped };
};

const nothing = { changed: [], skipped: [] } as const;

/** Asks before it changes jobs, with the report of a dry run, and shows the report. */
export const perform = async <TChanged, TSkipped>(
  { output }: CommandContext,
  { dryRun, yes }: { readonly dryRun: boolean; readonly yes?: boolean },
  {
    run,
    question,
    show,
  }: {
    readonly run: (dryRun: boolean) => Promise<Outcome<TChanged, TSkipped>>;
    readonly question: (plan: Outcome<TChanged, TSkipped>) => string;
    readonly show: (outcome: Outcome<TChanged, TSkipped>, dryRun: boolean) => void | Promise<void>;
  },
): Promise<void> => {
  if (dryRun || yes !== true) {
    const plan = await run(true);
    if (dryRun || plan.changed.length === 0) return show(plan, dryRun);
    await confirm(output, question(plan), { yes, dryRun });
  }
  return show(await run(false), false);
};

export const notFound = (
  missing: readonly string[],
): { readonly id: string; readonly reason: "not_found" }[] =>
  missing.map((id) => ({ id, reason: "not_found" }));

export const exitCodeOf = (missing: readonly string[]): ExitCode =>
  missing.length > 0 ? exitCodes.notFound : exitCodes.done;

export interface CancelChoice extends Omit<JobChoice, "reason"> {
  readonly reason?: string;
  readonly withChildren?: boolean;
}

const cancelSkipTexts: Readonly<Record<Skipped<CancelReport<string>>["reason"], string>> = {
  already_completed: "had completed already",
  already_failed: "had failed already",
  not_found: "does not exist",
};

/** Jobs that wait for the cancelled ones, without those that are cancelled themselves. */
const countFailed = (changed: readonly Changed<CancelReport<string>>[]): number => {
  const failed = new Set(changed.flatMap(({ failedIds }) => failedIds));
  for (const { id } of changed) failed.delete(id);
  return failed.size;
};

const describeCascade = (failed: number, dryRun: boolean): string =>
  `${plural(failed, "job")} that ${failed === 1 ? "waits" : "wait"} for them ${dryRun ? "would fail" : "failed"} with blocker_failed.`;

/** Takes ids of sequences, and of any job in one, or a filter of unfinished jobs. */
export const cancel = async (
  context: CommandContext,
  ids: readonly string[],
  { reason, withChildren, ...choice }: CancelChoice,
): Promise<ExitCode> => {
  const { filter, limit } = readChoice(ids, choice);
  return context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const { jobs, missing } = await findJobs(leasehold, ids);
    const sequenceIds = [...new Set(jobs.map((job) => job.sequenceId))];
    await perform<Changed<CancelReport<string>>, Skipped<CancelReport<string>>>(context, choice, {
      run: async (dryRun) => {
        const { changed, skipped } =
          filter === undefined
            ? await leasehold.jobs.cancel({ ids: sequenceIds, reason, withChildren, dryRun })
            : await throughFilter(filter, limit, (chosen) =>
                leasehold.jobs.cancel({ ...chosen, reason, withChildren, dryRun }),
              );
        return { changed, skipped: [...skipped, ...notFound(missing)] };
      },
      question: ({ changed }) => {
        const children = withChildren === true ? ", with the children" : "";
        const failed = countFailed(changed);
        const cascade = failed === 0 ? "" : ` ${describeCascade(failed, true)}`;
        return `Cancel ${plural(changed.length, "sequence")}${children}?${cascade}`;
      },
      show: ({ changed, skipped }, dryRun) => {
        if (output.json) return output.printJson({ dryRun, changed, skipped });
        if (changed.length + skipped.length === 0) return output.note("No jobs.");
        for (const { id } of changed) output.print(`${id}  ${dryRun ? "would be cancelled" : "cancelled"}`);
        for (const { id, reason: why } of skipped) output.print(`${id}  ${cancelSkipTexts[why]}`);
        const failed = countFailed(changed);
        if (failed > 0) output.note(describeCascade(failed, dryRun));
      },
    });
    return exitCodeOf(missing);
  });
};

/** Which jobs to delete, and how. */
export interface DeleteChoice extends JobChoice {
  readonly force?: boolean;
}

interface SkippedTree {
  readonly id: string;
  readonly reason: Skipped<DeleteReport<string>>["reason"] | "not_failed";
}

const deleteSkipTexts: Readonly<Record<SkippedTree["reason"], string>> = {
  not_found: "there is no such job",
  not_failed: "the job has not failed",
  unfinished: "other jobs of its tree are not finished (--force deletes them too)",
  has_dependants: "jobs of another tree wait for it",
};

const mostListed = 50;

/** Deletes the trees of the chosen jobs. `skipped` has named jobs that are not to be deleted. */
const deleteJobs = async (
  context: CommandContext,
  leasehold: AnyLeasehold,
  chosen: ReadChoice & { readonly jobs: readonly AnyJob[]; readonly skipped: readonly SkippedTree[] },
  { force, ...choice }: DeleteChoice,
): Promise<void> => {
  const { output } = context;
  const { filter, limit, jobs } = chosen;
  const onlyFinished = force !== true;
  const rootSequenceIds = [...new Set(jobs.map((job) => job.rootSequenceId))];
  const count = (trees: readonly Changed<DeleteReport<string>>[]): number =>
    trees.reduce((sum, tree) => sum + tree.jobs, 0);
  return perform<Changed<DeleteReport<string>>, SkippedTree>(context, choice, {
    run: async (dryRun) => {
      const { changed, skipped } =
        filter === undefined
          ? await leasehold.deleteJobSequences({ rootSequenceIds, onlyFinished, dryRun })
          : await throughFilter(filter, limit, (page) =>
              leasehold.deleteJobSequences({ ...page, onlyFinished, dryRun }),
            );
      return { changed, skipped: [...chosen.skipped, ...skipped] };
    },
    question: ({ changed }) =>
      `Delete ${plural(count(changed), "job")} in ${plural(changed.length, "tree")} for good?`,
    show: ({ changed, skipped }, dryRun) => {
      const deletedJobs = count(changed);
      if (output.json) return output.printJson({ dryRun, deletedJobs, changed, skipped });
      for (const { id, reason } of skipped) output.note(`${id} skipped: ${deleteSkipTexts[reason]}.`);
      if (dryRun) {
        for (const tree of changed.slice(0, mostListed))
          output.print(`${tree.id}  ${plural(tree.jobs, "job")}`);
        if (changed.length > mostListed)
          output.print(`and ${plural(changed.length - mostListed, "more tree")}`);
      }
      output.print(`${dryRun ? "Would delete" : "Deleted"} ${plural(deletedJobs, "job")}.`);
    },
  });
};

/** Takes ids of sequences, and of any job in one, or a filter of finished jobs. */
export const deleteFinished = async (
  context: CommandContext,
  ids: readonly string[],
  choice: DeleteChoice,
): Promise<ExitCode> => {
  const read = readChoice(ids, choice);
  return context.withStore({}, async ({ leasehold }) => {
    const { jobs, missing } = await findJobs(leasehold, ids);
    await deleteJobs(context, leasehold, { ...read, jobs, skipped: notFound(missing) }, choice);
    return exitCodeOf(missing);
  });
};

const onlyFailed = { status: ["failed"] } as const;

export const deleteFailed = async (
  context: CommandContext,
  ids: readonly string[],
  choice: DeleteChoice,
): Promise<ExitCode> => {
  const { filter, limit } = readChoice(ids, choice);
  return context.withStore({}, async ({ leasehold }) => {
    const { jobs, missing } = await findJobs(leasehold, ids);
    const isFailed = ({ status }: AnyJob): boolean => status === "failed";
    const notFailed = jobs.filter((job) => !isFailed(job));
    await deleteJobs(
      context,
      leasehold,
      {
        filter: filter && { ...filter, ...onlyFailed },
        limit,
        jobs: jobs.filter(isFailed),
        skipped: [
          ...notFound(missing),
          ...notFailed.map(({ id }) => ({ id, reason: "not_failed" }) as const),
        ],
      },
      choice,
    );
    return exitCodeOf(missing);
  });
};

const redriveSkipTexts: Readonly<Record<Skipped<RedriveReport<string>>["reason"], string>> = {
  not_found: "does not exist",
  not_failed: "has not failed",
  blocker_failed: "waits for a sequence that has failed itself: redrive that one",
  blocker_cycle: "would wait for itself",
  duplicate_live: "has a successor with the same deduplication key that is not finished",
};

export interface RedriveChoice extends JobChoice {
  readonly at?: { readonly at: Date } | { readonly afterMs: number };
}

type Redriven = Outcome<Changed<RedriveReport<string>>, Skipped<RedriveReport<string>>>;

/** Each job once, whether it was chosen, revived with another one, or both. */
const countOf = ({ changed }: Redriven): { readonly all: number; readonly revived: number } => {
  const chosen = new Set(changed.map(({ id }) => id));
  const all = new Set([...chosen, ...changed.flatMap(({ revivedIds }) => revivedIds)]);
  return { all: all.size, revived: all.size - chosen.size };
};

/** A job that was revived by an earlier call is no longer failed when its own call comes. */
const withoutRevived = ({ changed, skipped }: Redriven): Redriven => {
  const revived = new Set(changed.flatMap(({ revivedIds }) => revivedIds));
  return {
    changed,
    skipped: skipped.filter(({ id, reason }) => reason !== "not_failed" || !revived.has(id)),
  };
};

const showRedriven = async (
  { output }: CommandContext,
  leasehold: AnyLeasehold,
  outcome: Redriven,
  dryRun: boolean,
): Promise<void> => {
  const { changed, skipped } = outcome;
  const { all, revived } = countOf(outcome);
  if (output.json) return output.printJson({ dryRun, jobs: all, changed, skipped });
  for (const { id, reason } of skipped) output.note(`${id} skipped: it ${redriveSkipTexts[reason]}.`);
  if (dryRun && changed.length > 0) {
    const shown = changed.slice(0, mostListed).map(({ id }) => id);
    const { jobs } = await leasehold.jobs.list({ id: shown, limit: mostListed, order: "oldest" });
    output.print(renderJobs(output, jobs));
    if (changed.length > shown.length)
      output.print(`and ${plural(changed.length - shown.length, "more job")}`);
  }
  const parts =
    revived === 0
      ? ""
      : `: ${changed.length} that were chosen, and ${revived} that had failed because of them`;
  output.print(`${dryRun ? "Would redrive" : "Redrove"} ${plural(all, "job")}${parts}.`);
};

export const redriveFailed = async (
  context: CommandContext,
  ids: readonly string[],
  { at: schedule, ...choice }: RedriveChoice,
): Promise<ExitCode> => {
  const { filter, limit } = readChoice(ids, choice);
  return context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { jobs, missing } = await findJobs(leasehold, ids);
    const found = jobs.map(({ id }) => id);
    await perform<Changed<RedriveReport<string>>, Skipped<RedriveReport<string>>>(context, choice, {
      run: async (dryRun) => {
        const { changed, skipped } =
          filter === undefined
            ? await leasehold.jobs.redrive({ ids: found, dryRun, schedule })
            : await throughFilter(filter, limit, (chosen) =>
                leasehold.jobs.redrive({ ...chosen, dryRun, schedule }),
              );
        return withoutRevived({ changed, skipped: [...skipped, ...notFound(missing)] });
      },
      question: (plan) => `Redrive ${plural(countOf(plan).all, "job")}?`,
      show: (outcome, dryRun) => showRedriven(context, leasehold, outcome, dryRun),
    });
    return exitCodeOf(missing);
  });
};

export interface WaitingChange {
  readonly at?: { readonly at: Date } | { readonly afterMs: number };
  readonly priority?: number;
  readonly input?: unknown;
}

type Change = Omit<Parameters<AnyLeasehold["jobs"]["update"]>[0], "ids" | "filter">;

const updateSkipTexts: Readonly<Record<Skipped<UpdateReport<string>>["reason"], string>> = {
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

export const updateWaiting = async (
  context: CommandContext,
  ids: readonly string[],
  options: JobChoice & WaitingChange,
): Promise<ExitCode> => {
  const { filter, limit } = readChoice(ids, options);
  return context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const { jobs, missing } = await findJobs(leasehold, ids);
    const change = toChange(options, () => typeOfInput(jobs, options));
    const found = jobs.map(({ id }) => id);
    const update = (choice: object, dryRun: boolean): Promise<UpdateReport<string>> =>
      leasehold.jobs.update({ ...change, ...choice, dryRun } as never);
    await perform<Changed<UpdateReport<string>>, Skipped<UpdateReport<string>>>(context, options, {
      run: async (dryRun) => {
        const { changed, skipped } =
          filter === undefined
            ? found.length === 0
              ? nothing
              : await update({ ids: found }, dryRun)
            : await throughFilter(filter, limit, (chosen) => update(chosen, dryRun));
        const unknown = notFound(missing).map((skip) => ({ ...skip, status: null }));
        return { changed, skipped: [...skipped, ...unknown] };
      },
      question: ({ changed }) => `Change ${plural(changed.length, "job")}?`,
      show: ({ changed, skipped }, dryRun) => {
        if (output.json) return output.printJson({ dryRun, changed, skipped });
        for (const { id, reason, status } of skipped)
          output.note(
            `${id} skipped: it ${updateSkipTexts[reason]}${status === null ? "" : ` (${status})`}.`,
          );
        output.print(`${dryRun ? "Would change" : "Changed"} ${plural(changed.length, "job")}.`);
      },
    });
    return exitCodeOf(missing);
  });
};
