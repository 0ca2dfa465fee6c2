import type { RedriveResult } from "../contracts/state-adapter.ts";
import { InvalidOptionError } from "../errors.ts";
import { optionalInteger, requireArray, requireId, requirePlainObject } from "../model/option-checks.ts";
import type { Engine } from "./engine.ts";
import { parseJobFilter } from "./job-filter.ts";
import { jobEventData } from "./observe.ts";
import { runSingleCall, findContext } from "./transaction.ts";

export interface RedriveReport {
  readonly redriven: readonly { jobId: string; sequenceId: string; revivedJobIds: readonly string[] }[];
  readonly skipped: readonly { jobId: string; reason: Exclude<RedriveResult["kind"], "redriven"> }[];
}

const batchSize = 500;
const knownOptions = { ids: true, filter: true, dryRun: true, limit: true } as const;

/** Thrown to undo a dry run: it really does the work, so that its report is true, and then takes it back. */
class DryRunFinished extends Error {}

/** Revives failed jobs, by id or by filter, and what failed because of them. */
export const redriveJobs = async (engine: Engine, passed: unknown): Promise<RedriveReport> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await findContext(engine, "redriveJobs", options, knownOptions);
  if ((options["ids"] === undefined) === (options["filter"] === undefined)) {
    throw new InvalidOptionError("ids", "or `filter` must be given, and not both", options["ids"]);
  }
  const { dryRun = false } = options;
  if (typeof dryRun !== "boolean") throw new InvalidOptionError("dryRun", "must be true or false", dryRun);

  const jobIds = await chooseJobs(engine, ctx, options);
  if (!dryRun) return redriveInBatches(engine, ctx, jobIds);

  let report: RedriveReport | undefined;
  try {
    await engine.store.runInTransaction(async (inner) => {
      report = summarise(await engine.store.redriveJobs({ ctx: inner, jobIds }));
      throw new DryRunFinished();
    }, ctx);
  } catch (error) {
    if (!(error instanceof DryRunFinished)) throw error;
  }
  return report!;
};

const chooseJobs = async (
  engine: Engine,
  ctx: object | undefined,
  options: Record<string, unknown>,
): Promise<string[]> => {
  if (options["ids"] !== undefined) {
    if (options["limit"] !== undefined)
      throw new InvalidOptionError("limit", "goes with `filter`", options["limit"]);
    const ids = requireArray(options["ids"], "ids", { maxLength: 100_000 });
    return ids.map((id, index) => requireId(id, `ids[${index}]`));
  }
  const filter = parseJobFilter(requirePlainObject(options["filter"], "filter"), "filter.");
  const limit = optionalInteger(options["limit"], "limit", 10_000, { min: 1, max: 100_000 });
  const ids: string[] = [];
  let after = null;
  do {
    const page = await engine.store.listJobs({
      ctx,
      filter: { ...filter, statuses: ["failed"] },
      order: "oldest",
      limit: Math.min(batchSize, limit - ids.length),
      after,
    });
    for (const { id } of page.jobs) ids.push(id);
    after = page.next;
  } while (after && ids.length < limit);
  return ids;
};

const redriveInBatches = async (
  engine: Engine,
  ctx: object | undefined,
  jobIds: readonly string[],
): Promise<RedriveReport> => {
  const results: RedriveResult[] = [];
  for (let start = 0; start < jobIds.length; start += batchSize) {
    const batch = jobIds.slice(start, start + batchSize);
    await runSingleCall(engine, "redriveJobs", ctx, async (effects) => {
      const redriven = await engine.store.redriveJobs({ ctx, jobIds: batch });
      for (const { kind, job } of redriven) {
        if (kind !== "redriven" || !job) continue;
        effects.observe("jobRedriven", () => jobEventData(job));
        if (job.status === "pending") effects.jobScheduled(job.typeName);
      }
      results.push(...redriven);
    });
  }
  return summarise(results);
};

/** A job that was named and also revived by another one's redrive appears once, as redriven. */
const summarise = (results: readonly RedriveResult[]): RedriveReport => {
  const redriven = results.flatMap(({ kind, jobId, job, revived }) =>
    kind === "redriven"
      ? [{ jobId, sequenceId: job!.sequenceId, revivedJobIds: revived.map(({ id }) => id) }]
      : [],
  );
  const alive = new Set(redriven.flatMap(({ jobId, revivedJobIds }) => [jobId, ...revivedJobIds]));
  const skipped = results.flatMap(({ kind, jobId }) =>
    kind === "redriven" || alive.has(jobId) ? [] : [{ jobId, reason: kind }],
  );
  return { redriven, skipped };
};
