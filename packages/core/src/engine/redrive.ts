import type { RedriveReport } from "../api/operations.ts";
import type { JobPage, RedriveResult } from "../contracts/state-adapter.ts";
import { InvalidOptionError } from "../errors.ts";
import { decodeCursor, encodeCursor } from "../model/cursor.ts";
import { optionalInteger, requireArray, requireId, requirePlainObject } from "../model/option-checks.ts";
import { parseSchedule } from "../model/parse-schedule.ts";
import type { Schedule } from "../model/schedule.ts";
import type { AfterCommit } from "./after-commit.ts";
import type { Engine } from "./engine.ts";
import { parseJobFilter } from "./job-filter.ts";
import { jobEventData } from "./observe.ts";
import { announceAfter, resolveTransaction, runAtomically } from "./transaction.ts";

interface Choice {
  readonly jobIds: readonly string[];
  /** Where the next call goes on; null when the filter has no more. */
  readonly cursor: string | null;
}

const batchSize = 500;
const knownOptions = {
  ids: true,
  filter: true,
  dryRun: true,
  limit: true,
  cursor: true,
  schedule: true,
} as const;
const cursorKind = "redriveJobs";

/** Thrown to undo a dry run: it really does the work, so that its report is true, and then takes it back. */
class DryRunFinished extends Error {}

/** Revives failed jobs, by id or by filter, and what failed because of them. */
export const redriveJobs = async (engine: Engine, passed: unknown): Promise<RedriveReport<string>> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "redriveJobs", options, knownOptions);
  if ((options["ids"] === undefined) === (options["filter"] === undefined)) {
    throw new InvalidOptionError("ids", "or `filter` must be given, and not both", options["ids"]);
  }
  const { dryRun = false } = options;
  if (typeof dryRun !== "boolean") throw new InvalidOptionError("dryRun", "must be true or false", dryRun);
  if (dryRun && ctx && !engine.store.capabilities.savepoints) {
    throw new InvalidOptionError(
      "dryRun",
      "cannot be used inside a transaction on this store: it has no savepoints, so nothing could be undone alone",
    );
  }

  const schedule = options["schedule"] === undefined ? undefined : parseSchedule(options["schedule"]);
  const { jobIds, cursor } = await chooseJobs(engine, ctx, options);
  if (!dryRun) return { ...(await redriveInBatches(engine, ctx, jobIds, schedule)), cursor };

  let report: Summary | undefined;
  try {
    await runAtomically(engine, "redriveJobs", ctx, async (inner) => {
      report = summarise(await engine.store.redriveJobs({ ctx: inner, jobIds, schedule }));
      throw new DryRunFinished();
    });
  } catch (error) {
    if (!(error instanceof DryRunFinished)) throw error;
  }
  return { ...report!, cursor };
};

const chooseJobs = async (
  engine: Engine,
  ctx: object | undefined,
  options: Record<string, unknown>,
): Promise<Choice> => {
  if (options["ids"] !== undefined) {
    for (const option of ["limit", "cursor"])
      if (options[option] !== undefined)
        throw new InvalidOptionError(option, "goes with `filter`", options[option]);
    const ids = requireArray(options["ids"], "ids", { maxLength: 100_000 });
    return {
      jobIds: [...new Set(ids.map((id, index) => requireId(id, `ids[${index}]`)))],
      cursor: null,
    };
  }
  const filter = parseJobFilter(requirePlainObject(options["filter"], "filter"), "filter.");
  const limit = optionalInteger(options["limit"], "limit", 10_000, { min: 1, max: 100_000 });
  const ids: string[] = [];
  let after = decodeCursor(cursorKind, options["cursor"] ?? undefined);
  do {
    const page: JobPage = await engine.store.listJobs({
      ctx,
      filter: { ...filter, statuses: ["failed"] },
      order: "oldest",
      limit: Math.min(batchSize, limit - ids.length),
      after,
    });
    for (const { id } of page.jobs) ids.push(id);
    after = page.next;
  } while (after && ids.length < limit);
  return { jobIds: ids, cursor: after && encodeCursor(cursorKind, after) };
};

const redriveInBatches = async (
  engine: Engine,
  ctx: object | undefined,
  jobIds: readonly string[],
  schedule: Schedule | undefined,
): Promise<Summary> => {
  const results: RedriveResult[] = [];
  for (let start = 0; start < jobIds.length; start += batchSize) {
    const batch = jobIds.slice(start, start + batchSize);
    await announceAfter(engine, "redriveJobs", ctx, async (afterCommit) => {
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
