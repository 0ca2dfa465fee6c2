import type { AfterCommit, Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { parseSchedule } from "../job-types/settings.ts";
import { jobEventData } from "../observability/observe.ts";
import type { RedriveResult } from "../store/contract/outcomes.ts";
import type { RedriveReport } from "./api/operate.ts";
import { changeChosen, choiceOptions, type ChoiceRules } from "./choose.ts";

const choice: ChoiceRules = { operation: "jobs.redrive", statuses: ["failed"] };

/** Runs failed jobs again, with the jobs that failed because of them. */
export const redriveJobs = (engine: Engine, passed: unknown): Promise<RedriveReport<string>> =>
  operation(
    engine,
    "jobs.redrive",
    passed,
    { options: { ...choiceOptions, schedule: true } },
    async (call) => {
      const { schedule: given } = call.options;
      const schedule = given === undefined ? undefined : parseSchedule(given);
      const { results, cursor } = await changeChosen(engine, call, choice, async (ctx, ids, afterCommit) => {
        const redriven = await engine.store.redriveJobs({ ctx, jobIds: ids, schedule });
        announceRedrive(afterCommit, redriven);
        return redriven;
      });
      return { ...summarise(results), cursor };
    },
  );

/** One event for each revived job, even if several redriven jobs revived it. */
const announceRedrive = (afterCommit: AfterCommit, results: readonly RedriveResult[]): void => {
  const chosen = new Set<string>();
  for (const { kind, job } of results) {
    if (kind !== "redriven" || !job) continue;
    chosen.add(job.id);
    afterCommit.observe("jobRedriven", () => ({ revivedBy: null, ...jobEventData(job) }));
    if (job.status === "pending") afterCommit.notify("jobScheduled", job.typeName);
  }
  for (const { jobId, revived } of results) {
    for (const job of revived) {
      if (chosen.has(job.id)) continue;
      afterCommit.observe("jobRedriven", () => ({ revivedBy: jobId, ...jobEventData(job) }));
    }
  }
};

/** A job that was chosen and also revived by the redrive of another one appears once. */
const summarise = (results: readonly RedriveResult[]): Omit<RedriveReport<string>, "cursor"> => {
  const redriven = results.filter(({ kind }) => kind === "redriven");
  const chosen = new Set(redriven.map(({ jobId }) => jobId));
  const changed = redriven.map(({ jobId, job, revived }) => ({
    id: jobId,
    sequenceId: job!.sequenceId,
    revivedIds: revived.map(({ id }) => id).filter((id) => !chosen.has(id)),
  }));
  const revived = new Set(changed.flatMap(({ revivedIds }) => revivedIds));
  const skipped = results.flatMap(({ kind, jobId }) =>
    kind === "redriven" || revived.has(jobId) ? [] : [{ id: jobId, reason: kind }],
  );
  return { changed, skipped };
};
