import { requirePlainObject } from "../base/options.ts";
import type { AfterCommit, Engine } from "../engine/engine.ts";
import { announceAfter, resolveTransaction } from "../engine/operation.ts";
import { parseSchedule } from "../job-types/settings.ts";
import { jobEventData } from "../observability/observe.ts";
import type { Schedule } from "../store/contract/job.ts";
import type { RedriveResult } from "../store/contract/outcomes.ts";
import type { RedriveReport } from "./api/operate.ts";
import { choiceOptions, type ChoiceRules, chooseJobs, inBatches, parseDryRun, tryOut } from "./choose.ts";

const knownOptions = { ...choiceOptions, schedule: true } as const;

const choiceRules: ChoiceRules = { statuses: ["failed"], cursorKind: "jobs.redrive" };

/** Revives failed jobs, by id or by filter, and what failed because of them. */
export const redriveJobs = async (engine: Engine, passed: unknown): Promise<RedriveReport<string>> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "jobs.redrive", options, knownOptions);
  const dryRun = parseDryRun(engine, ctx, options);
  const schedule = options["schedule"] === undefined ? undefined : parseSchedule(options["schedule"]);
  const { jobIds, cursor } = await chooseJobs(engine, ctx, options, choiceRules);
  const summary = dryRun
    ? await tryOut(engine, "jobs.redrive", ctx, async (inner) =>
        summarise(await engine.store.redriveJobs({ ctx: inner, jobIds, schedule })),
      )
    : await redriveInBatches(engine, ctx, jobIds, schedule);
  return { ...summary, cursor };
};

const redriveInBatches = async (
  engine: Engine,
  ctx: object | undefined,
  jobIds: readonly string[],
  schedule: Schedule | undefined,
): Promise<Summary> => {
  const results: RedriveResult[] = [];
  for (const batch of inBatches(jobIds)) {
    await announceAfter(engine, "jobs.redrive", ctx, async (afterCommit) => {
      const redriven = await engine.store.redriveJobs({ ctx, jobIds: batch, schedule });
      announceRedrive(afterCommit, redriven);
      results.push(...redriven);
    });
  }
  return summarise(results);
};

/** One event for each job that is alive again, however many brought it back. */
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

type Summary = Omit<RedriveReport<string>, "cursor">;

/** A job that was chosen and also revived by another one's redrive appears once. */
const summarise = (results: readonly RedriveResult[]): Summary => {
  const chosen = new Set(results.filter(({ kind }) => kind === "redriven").map(({ jobId }) => jobId));
  const redriven = results
    .filter(({ kind }) => kind === "redriven")
    .map(({ jobId, job, revived }) => ({
      jobId,
      sequenceId: job!.sequenceId,
      revivedJobIds: revived.map(({ id }) => id).filter((id) => !chosen.has(id)),
    }));
  const revived = new Set(redriven.flatMap(({ revivedJobIds }) => revivedJobIds));
  const skipped = results.flatMap(({ kind, jobId }) =>
    kind === "redriven" || revived.has(jobId) ? [] : [{ jobId, reason: kind }],
  );
  return { redriven, skipped };
};
