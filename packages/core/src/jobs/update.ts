import { encodePayload } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import { requireName } from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { validateAgainstSchema } from "../job-types/registry.ts";
import { parseSchedule, readJobSettings } from "../job-types/settings.ts";
import type { WaitingJobChange, WaitingJobResult } from "../store/contract/edits.ts";
import type { UpdateReport } from "./api/operate.ts";
import { changeChosen, choiceOptions, type ChoiceRules } from "./choose.ts";
import { announceUpdate } from "./start.ts";

const knownOptions = {
  ...choiceOptions,
  schedule: true,
  priority: true,
  typeName: true,
  input: true,
} as const;

const choice: ChoiceRules = { operation: "jobs.update", statuses: ["blocked", "pending"] };

/** Changes waiting jobs: when they run, their priority, their input. */
export const updateJobs = (engine: Engine, passed: unknown): Promise<UpdateReport<string>> =>
  operation(
    engine,
    "jobs.update",
    passed,
    { options: knownOptions, part: "edits" },
    async ({ part: edits, ...call }) => {
      const change = await parseChange(engine, call.options);
      const { results, cursor } = await changeChosen(
        engine,
        { ...call, part: edits },
        choice,
        async (ctx, ids, afterCommit) => {
          const updated = await edits.updateWaitingJobs({ ctx, jobIds: ids, change });
          for (const { kind, job } of updated)
            if (kind === "changed")
              announceUpdate(afterCommit, job!, "update", change.schedule !== undefined);
          return updated;
        },
      );
      return { ...summarise(results), cursor };
    },
  );

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

/** Validates and encodes an input of a type. */
export const parseInput = async (
  engine: Engine,
  given: unknown,
  input: unknown,
): Promise<NonNullable<WaitingJobChange["input"]>> => {
  const typeName = requireName(given, "typeName");
  const type = engine.jobTypes.get(typeName);
  const { value } = await validateAgainstSchema(type, typeName, "input", input);
  const { codec, maxPayloadBytes: maxBytes } = engine;
  return { typeName, text: encodePayload({ codec, value, path: "input", maxBytes }) };
};

const summarise = (results: readonly WaitingJobResult[]): Omit<UpdateReport<string>, "cursor"> => ({
  changed: results.flatMap(({ jobId, kind, job }) =>
    kind === "changed"
      ? [
          {
            id: jobId,
            sequenceId: job!.sequenceId,
            status: job!.status as "blocked" | "pending",
            scheduledAt: new Date(job!.scheduledAt),
            priority: job!.priority,
          },
        ]
      : [],
  ),
  skipped: results.flatMap(({ jobId, kind, job }) =>
    kind === "changed" ? [] : [{ id: jobId, reason: kind, status: job?.status ?? null }],
  ),
});
