import { type AnyJob, JobSequenceHasDependantsError } from "leasehold";
import { type CommandContext, confirm } from "../command-context.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { plural } from "leasehold/adapter";
import type { JobChoice } from "../options/job-choice.ts";
import { createProgress } from "../output/progress.ts";
import type { AnyLeasehold } from "../store/store.ts";

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

const batchSize = 200;
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
    for (let start = 0; start < trees.length; start += batchSize) {
      const roots = trees.slice(start, start + batchSize).map(({ rootSequenceId }) => rootSequenceId);
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
