import { encodePayload } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import { requireName, requirePlainObject } from "../base/options.ts";
import type { Edits } from "../store/contract/edits.ts";
import type { Engine } from "../engine/engine.ts";
import { announceAfter, resolveTransaction } from "../engine/operation.ts";
import { validateAgainstSchema } from "../job-types/registry.ts";
import { parseSchedule, readJobSettings } from "../job-types/settings.ts";
import type { WaitingJobChange, WaitingJobResult } from "../store/contract/edits.ts";
import { requirePart } from "../store/parts.ts";
import type { UpdateWaitingJobsReport } from "./api/operate.ts";
import { choiceOptions, type ChoiceRules, chooseJobs, inBatches, parseDryRun, tryOut } from "./choose.ts";
import { announceUpdate } from "./start.ts";

const changeOptions = { schedule: true, priority: true, typeName: true, input: true } as const;

const choiceRules: ChoiceRules = { statuses: ["blocked", "pending"], cursorKind: "jobs.update" };

/** Changes jobs that wait: when they run, their priority, their input. */
export const updateJobs = async (
  engine: Engine,
  passed: unknown,
): Promise<UpdateWaitingJobsReport<string>> => {
  const options = requirePlainObject(passed, "options");
  const known = { ...choiceOptions, ...changeOptions };
  const ctx = await resolveTransaction(engine, "jobs.update", options, known);
  const edits = requirePart(engine.store, "edits", "jobs.update");
  return update(engine, edits, ctx, options, await parseChange(engine, options));
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
  edits: Edits<object>,
  ctx: object | undefined,
  options: Record<string, unknown>,
  change: WaitingJobChange,
): Promise<UpdateWaitingJobsReport<string>> => {
  const dryRun = parseDryRun(engine, ctx, options);
  const { jobIds, cursor } = await chooseJobs(engine, ctx, options, choiceRules);
  const results = dryRun
    ? await tryOut(engine, "jobs.update", ctx, (inner) =>
        edits.updateWaitingJobs({ ctx: inner, jobIds, change }),
      )
    : await updateInBatches(engine, edits, ctx, jobIds, change);
  return { ...summarise(results), cursor };
};

const updateInBatches = async (
  engine: Engine,
  edits: Edits<object>,
  ctx: object | undefined,
  jobIds: readonly string[],
  change: WaitingJobChange,
): Promise<WaitingJobResult[]> => {
  const results: WaitingJobResult[] = [];
  for (const batch of inBatches(jobIds)) {
    await announceAfter(engine, "jobs.update", ctx, async (afterCommit) => {
      const updated = await edits.updateWaitingJobs({ ctx, jobIds: batch, change });
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
