import {
  type AnyJob,
  changeInput,
  fitsJobType,
  type InputChange,
  type JobStatus,
  replaceInput,
} from "leasehold";
import { plural } from "leasehold/adapter";
import { type JobChoice, readChoice, type ReadChoice } from "../options/job-choice.ts";
import { CliError, type ExitCode } from "../output/exit-codes.ts";
import { findJobs } from "../store/find-job.ts";
import type { AnyLeasehold } from "../store/store.ts";
import { exitCodeOf, notFound, perform } from "./change.ts";
import type { CommandContext } from "./context.ts";

/** How inputs are to change. */
export interface InputEdit {
  readonly at?: unknown;
  readonly priority?: unknown;
  readonly input?: unknown;
  readonly set?: readonly InputChange[];
  readonly unset?: readonly InputChange[];
}

/** Whether only part of an input changes, which differs from job to job. */
export const hasEdits = ({ set, unset }: InputEdit): boolean => set !== undefined || unset !== undefined;

const changesOf = ({ input, set = [], unset = [], at, priority }: InputEdit): readonly InputChange[] => {
  if (at !== undefined || priority !== undefined) {
    throw new CliError("Usage", "--at and --priority cannot be combined with a changed input.", {
      hint: "Change the input first, and then use `leasehold waiting update`.",
    });
  }
  if (input !== undefined && set.length + unset.length > 0) {
    throw new CliError("Usage", "--input replaces the whole input, so --set and --unset have no use.", {
      hint: "Leave out one or the other.",
    });
  }
  return input === undefined ? [...set, ...unset] : [{ path: [], value: input }];
};

const skipTexts: Readonly<Record<string, string>> = {
  not_found: "does not exist",
  not_failed: "has not failed",
  not_waiting: "does not wait",
  other_input: "has no place in its input for this change",
  invalid_input: "would get an input that does not fit its type",
  blocker_failed: "waits for a sequence that has failed itself: redrive that one",
  blocker_cycle: "would wait for itself",
  duplicate_live: "has a successor with the same deduplication key that is not finished",
};

const pageSize = 500;

/** The chosen jobs, page by page. A job that is changed leaves the list; the cursor is not affected. */
const chosenJobs = async function* (
  leasehold: AnyLeasehold,
  named: readonly AnyJob[],
  { filter, limit = Infinity }: ReadChoice,
  status: readonly JobStatus[],
): AsyncGenerator<AnyJob> {
  if (filter === undefined) return yield* named;
  let left = limit;
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<AnyLeasehold["jobs"]["list"]>> = await leasehold.jobs.list({
      status,
      ...filter,
      order: "oldest",
      limit: Math.min(pageSize, left),
      cursor,
    });
    yield* page.jobs;
    left -= page.jobs.length;
    cursor = page.cursor;
  } while (cursor !== null && left > 0);
};

/** Returns why a job was left as it is. */
const editJob = async (
  leasehold: AnyLeasehold,
  job: AnyJob,
  changes: readonly InputChange[],
  status: readonly JobStatus[],
  dryRun: boolean,
): Promise<string | undefined> => {
  if (!status.includes(job.status)) return status.includes("failed") ? "not_failed" : "not_waiting";
  const changed = changeInput(job.input, changes);
  if (changed === undefined) return "other_input";
  if (!(await fitsJobType(leasehold, job.typeName, changed.input))) return "invalid_input";
  return dryRun ? undefined : replaceInput(leasehold, job, changed.input);
};

/** Changes the inputs of failed jobs and runs them again, or the inputs of jobs that wait. */
export const editJobs = async (
  context: CommandContext,
  ids: readonly string[],
  options: JobChoice & InputEdit,
  of: "failed" | "waiting",
): Promise<ExitCode> => {
  const changes = changesOf(options);
  const choice = readChoice(ids, options);
  const status: readonly JobStatus[] = of === "failed" ? ["failed"] : ["blocked", "pending"];
  return context.withStore({ notifies: true }, async ({ leasehold }) => {
    const { output } = context;
    const { jobs, missing } = await findJobs(leasehold, ids);
    const what = of === "failed" ? "Redrive" : "Change";
    await perform<{ readonly id: string }, { readonly id: string; readonly reason: string }>(
      context,
      options,
      {
        run: async (dryRun) => {
          const changed: { readonly id: string }[] = [];
          const skipped: { readonly id: string; readonly reason: string }[] = [...notFound(missing)];
          for await (const job of chosenJobs(leasehold, jobs, choice, status)) {
            const reason = await editJob(leasehold, job, changes, status, dryRun);
            if (reason === undefined) changed.push({ id: job.id });
            else skipped.push({ id: job.id, reason });
          }
          return { changed, skipped };
        },
        question: ({ changed }) => `${what} ${plural(changed.length, "job")} with a changed input?`,
        show: ({ changed, skipped }, dryRun) => {
          if (output.json) return output.printJson({ dryRun, changed, skipped });
          for (const { id, reason } of skipped)
            output.note(`${id} skipped: it ${skipTexts[reason] ?? reason}.`);
          const done = of === "failed" ? "Redrove" : "Changed";
          const verb = dryRun ? `Would ${what.toLowerCase()}` : done;
          output.print(`${verb} ${plural(changed.length, "job")} with a changed input.`);
        },
      },
    );
    return exitCodeOf(missing);
  });
};
