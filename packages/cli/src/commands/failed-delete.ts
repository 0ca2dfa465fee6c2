import { type AnyJob, JobSequenceHasDependantsError } from "leasehold";
import { type CommandContext, confirm } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { type FailedChoice, readChoice, type ReadChoice } from "../options/failed-choice.ts";
import { plural } from "../output/amounts.ts";
import { createProgress } from "../output/progress.ts";
import { findJob } from "../store/find-job.ts";
import type { AnyLeasehold } from "../store/store.ts";

export interface DeleteChoice extends FailedChoice {
  readonly force?: boolean;
}

interface Skipped {
  readonly id: string;
  readonly reason: "not_found" | "not_failed" | "unfinished" | "has_dependants";
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

const pageSize = 1_000;
const batchSize = 200;

const chooseJobs = async (
  leasehold: AnyLeasehold,
  ids: readonly string[],
  { filter, limit }: ReadChoice,
): Promise<{ readonly jobs: AnyJob[]; readonly skipped: Skipped[] }> => {
  if (filter === undefined) {
    const found = await Promise.all(ids.map((id) => findJob(leasehold, id)));
    const skipped = ids.flatMap((id, index): Skipped[] => {
      const job = found[index];
      if (job === undefined) return [{ id, reason: "not_found" }];
      return job.status === "failed" ? [] : [{ id, reason: "not_failed" }];
    });
    return { jobs: found.filter((job) => job?.status === "failed"), skipped };
  }
  const jobs: AnyJob[] = [];
  let cursor: string | null = null;
  do {
    const size = Math.min(pageSize, limit - jobs.length);
    const page: Awaited<ReturnType<AnyLeasehold["listJobs"]>> = await leasehold.listJobs({
      ...filter,
      status: "failed",
      order: "oldest",
      limit: size,
      cursor,
    });
    jobs.push(...page.jobs);
    cursor = page.cursor;
  } while (cursor !== null && jobs.length < limit);
  return { jobs, skipped: [] };
};

/** Jobs are deleted with the whole tree they belong to: what was started from one another goes together. */
const chooseTrees = async (
  leasehold: AnyLeasehold,
  jobs: readonly AnyJob[],
  force: boolean,
): Promise<{ readonly trees: Tree[]; readonly skipped: Skipped[] }> => {
  const trees: Tree[] = [];
  const skipped: Skipped[] = [];
  for (const rootSequenceId of new Set(jobs.map((job) => job.rootSequenceId))) {
    const counts = await leasehold.countJobs({ rootSequenceId });
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

export const deleteFailed = async (
  context: CommandContext,
  ids: readonly string[],
  choice: DeleteChoice,
): Promise<ExitCode> => {
  const read = readChoice(ids, choice);
  return context.withStore({}, async ({ leasehold }) => {
    const { output } = context;
    const { dryRun } = choice;
    const chosen = await chooseJobs(leasehold, ids, read);
    const { trees, skipped: unfinished } = await chooseTrees(leasehold, chosen.jobs, choice.force === true);
    const skipped = [...chosen.skipped, ...unfinished];
    const jobsInTrees = trees.reduce((sum, { jobs }) => sum + jobs, 0);
    let deletedJobs = dryRun ? jobsInTrees : 0;
    if (!dryRun && trees.length > 0) {
      const what = `${plural(jobsInTrees, "job")} in ${plural(trees.length, "tree")}`;
      await confirm(output, `Delete ${what} for good?`, choice);
      const progress = createProgress(output);
      for (let start = 0; start < trees.length; start += batchSize) {
        const roots = trees.slice(start, start + batchSize).map(({ rootSequenceId }) => rootSequenceId);
        const result = await deleteTrees(leasehold, roots);
        deletedJobs += result.deletedJobs;
        skipped.push(...result.skipped);
        progress.update("deleting", start + roots.length, trees.length);
      }
      progress.end();
    }
    if (output.json) output.printJson({ dryRun, deletedJobs, trees: trees.length, skipped });
    else {
      for (const { id, reason } of skipped) output.note(`${id} skipped: ${skipTexts[reason]}.`);
      output.print(`${dryRun ? "Would delete" : "Deleted"} ${plural(deletedJobs, "job")}.`);
    }
    return skipped.some(({ reason }) => reason === "not_found") ? exitCodes.notFound : exitCodes.done;
  });
};
