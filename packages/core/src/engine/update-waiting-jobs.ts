import type { UpdateWaitingJobsReport } from "../api/operations.ts";
import { requirePart } from "../contracts/optional-parts.ts";
import type { Flow, WaitingJobChange, WaitingJobResult } from "../contracts/state-adapter.ts";
import { InvalidOptionError } from "../errors.ts";
import { encodePayload } from "../model/codec.ts";
import { requireName, requirePlainObject } from "../model/option-checks.ts";
import { readJobSettings } from "../model/parse-job-settings.ts";
import { parseSchedule } from "../model/parse-schedule.ts";
import { immediately } from "../model/schedule.ts";
import {
  choiceOptions,
  type ChoiceRules,
  chooseJobs,
  inBatches,
  parseDryRun,
  tryOut,
} from "./chosen-jobs.ts";
import type { Engine } from "./engine.ts";
import { validateAgainstSchema } from "./job-type-registry.ts";
import { announceUpdate } from "./start.ts";
import { announceAfter, resolveTransaction } from "./transaction.ts";

const changeOptions = { schedule: true, priority: true, typeName: true, input: true } as const;
const choiceRules: ChoiceRules = { statuses: ["blocked", "pending"], cursorKind: "updateWaitingJobs" };

/** Changes jobs that wait: when they run, their priority, their input. */
export const updateWaitingJobs = async (
  engine: Engine,
  passed: unknown,
): Promise<UpdateWaitingJobsReport<string>> => {
  const options = requirePlainObject(passed, "options");
  const known = { ...choiceOptions, ...changeOptions };
  const ctx = await resolveTransaction(engine, "updateWaitingJobs", options, known);
  const flow = requirePart(engine.store, "flow", "updateWaitingJobs");
  return update(engine, flow, ctx, options, await parseChange(engine, options));
};

/** The same, for those who only want them to run. */
export const runJobsNow = async (
  engine: Engine,
  passed: unknown,
): Promise<UpdateWaitingJobsReport<string>> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "runJobsNow", options, choiceOptions);
  const flow = requirePart(engine.store, "flow", "runJobsNow");
  return update(engine, flow, ctx, options, { schedule: immediately });
};

const parseChange = async (engine: Engine, options: Record<string, unknown>): Promise<WaitingJobChange> => {
  const { schedule, priority, typeName, input } = options;
  if ((typeName === undefined) !== (input === undefined)) {
    const missing = typeName === undefined ? "typeName" : "input";
    throw new InvalidOptionError(
      missing,
      "is required: `typeName` and `input` go together, since the type decides which input is valid",
    );
  }
  const change: WaitingJobChange = {
    schedule: schedule === undefined ? undefined : parseSchedule(schedule),
    priority: readJobSettings({ priority }).priority,
    input: typeName === undefined ? undefined : await parseInput(engine, typeName, input),
  };
  if (Object.values(change).every((part) => part === undefined)) {
    throw new InvalidOptionError(
      "schedule",
      "`priority` or `input` must be given: there is nothing to change",
    );
  }
  return change;
};

const parseInput = async (
  engine: Engine,
  given: unknown,
  input: unknown,
): Promise<WaitingJobChange["input"]> => {
  const typeName = requireName(given, "typeName");
  const type = engine.jobTypes.get(typeName);
  const { value } = await validateAgainstSchema(type, typeName, "input", input);
  const { codec, maxPayloadBytes: maxBytes } = engine;
  return { typeName, text: encodePayload({ codec, value, path: "input", maxBytes }) };
};

const update = async (
  engine: Engine,
  flow: Flow<object>,
  ctx: object | undefined,
  options: Record<string, unknown>,
  change: WaitingJobChange,
): Promise<UpdateWaitingJobsReport<string>> => {
  const dryRun = parseDryRun(engine, ctx, options);
  const { jobIds, cursor } = await chooseJobs(engine, ctx, options, choiceRules);
  const results = dryRun
    ? await tryOut(engine, "updateWaitingJobs", ctx, (inner) =>
        flow.updateWaitingJobs({ ctx: inner, jobIds, change }),
      )
    : await updateInBatches(engine, flow, ctx, jobIds, change);
  return { ...summarise(results), cursor };
};

const updateInBatches = async (
  engine: Engine,
  flow: Flow<object>,
  ctx: object | undefined,
  jobIds: readonly string[],
  change: WaitingJobChange,
): Promise<WaitingJobResult[]> => {
  const results: WaitingJobResult[] = [];
  for (const batch of inBatches(jobIds)) {
    await announceAfter(engine, "updateWaitingJobs", ctx, async (afterCommit) => {
      const updated = await flow.updateWaitingJobs({ ctx, jobIds: batch, change });
      for (const { kind, job } of updated)
        if (kind === "changed") announceUpdate(afterCommit, job!, "update", change.schedule !== undefined);
      results.push(...updated);
    });
  }
  return results;
};

const summarise = (
  results: readonly WaitingJobResult[],
): Omit<UpdateWaitingJobsReport<string>, "cursor"> => ({
  updated: results.flatMap(({ jobId, kind, job }) =>
    kind === "changed"
      ? [
          {
            jobId,
            sequenceId: job!.sequenceId,
            status: job!.status as "blocked" | "pending",
            scheduledAt: new Date(job!.scheduledAt),
            priority: job!.priority,
          },
        ]
      : [],
  ),
  skipped: results.flatMap(({ jobId, kind, job }) =>
    kind === "changed" ? [] : [{ jobId, reason: kind, status: job?.status ?? null }],
  ),
});
