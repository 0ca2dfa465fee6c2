import { requirePart } from "../contracts/optional-parts.ts";
import type { NewJob } from "../contracts/state-adapter.ts";
import { InvalidOptionError, UnknownJobTypeError } from "../errors.ts";
import { encodePayload } from "../model/codec.ts";
import type { StateJob } from "../model/job.ts";
import type { JobSettings } from "../model/job-settings.ts";
import type { RuntimeJobType } from "../model/job-type-options.ts";
import {
  type OptionNames,
  requireBoolean,
  requireFunction,
  requireId,
  requireName,
  type UncheckedOptions,
} from "../model/option-checks.ts";
import { jobSettingNames, readJobSettings, resolveJobSettings } from "../model/parse-job-settings.ts";
import { parseSchedule } from "../model/parse-schedule.ts";
import type { Engine } from "./engine.ts";
import { validateAgainstSchema } from "./job-type-registry.ts";
import { parseDeduplication } from "./parse-deduplication.ts";

/** The options of a new job, unchecked. */
export interface JobRequest extends Partial<UncheckedOptions<keyof JobSettings>> {
  readonly typeName: unknown;
  readonly input?: unknown;
  readonly id?: unknown;
  readonly schedule?: unknown;
  readonly deduplication?: unknown;
  readonly detached?: unknown;
  readonly startBlockers?: unknown;
}

export const continuationOptions: OptionNames<keyof Omit<JobRequest, "deduplication" | "detached">> = {
  ...jobSettingNames,
  typeName: true,
  input: true,
  id: true,
  schedule: true,
  startBlockers: true,
};
export const startOptions: OptionNames<keyof JobRequest> = {
  ...continuationOptions,
  deduplication: true,
  detached: true,
};

const checkStartBlockers = (
  typeName: string,
  { blockers }: RuntimeJobType,
  given: unknown,
  option: string,
): void => {
  if (given !== undefined) {
    requireFunction(given, option);
    if (blockers?.length !== 0) return;
    throw new InvalidOptionError(option, `must be left out: job type "${typeName}" has no blockers`);
  }
  if (blockers && blockers.length > 0) {
    throw new InvalidOptionError(option, `is required: job type "${typeName}" has blockers`);
  }
};

/** Refuses a group where the store knows none. */
const groupOf = (engine: Engine, group: string | null): string | null => {
  if (group !== null) requirePart(engine.store, "flow", "A job with a group");
  return group;
};

/** The group of a job that none was given for; null where its type has none. */
const findGroup = (type: RuntimeJobType, typeName: string, input: unknown): string | null => {
  if (type.group !== undefined)
    return requireName(type.group(input), `jobTypes[${JSON.stringify(typeName)}].group()`);
  if (type.ordered === undefined || type.ordered === false) return null;
  throw new InvalidOptionError("group", `is required: job type "${typeName}" is ordered`);
};

/**
 * Checks a request to the end, before anything is written, and turns it into the row to be stored: in a new sequence,
 * or as the continuation of `predecessor`. At once, unless a schema has to be waited for.
 */
export const buildNewJob = (
  engine: Engine,
  request: JobRequest,
  predecessor: StateJob | null,
  path = "",
): NewJob | Promise<NewJob> => {
  const typeName = requireName(request.typeName, "typeName");
  const type = engine.jobTypes.get(typeName);
  if (!predecessor && type.internal) {
    throw new UnknownJobTypeError(typeName, "is internal: it can only be reached by continueWith");
  }
  checkStartBlockers(typeName, type, request.startBlockers, `${path}startBlockers`);
  const id = request.id === undefined ? engine.createId() : requireId(request.id, "id");
  const settings = resolveJobSettings(readJobSettings(request), type, engine.defaults);
  const schedule = parseSchedule(request.schedule);
  const deduplication = parseDeduplication(request.deduplication);

  if (settings.expireAfterMs !== null) requirePart(engine.store, "flow", "expireAfterMs");
  if (deduplication?.scope === "pending") requirePart(engine.store, "flow", 'deduplication.scope "pending"');
  if (deduplication?.onDuplicate) requirePart(engine.store, "flow", "deduplication.onDuplicate");

  const isDetached = request.detached !== undefined && requireBoolean(request.detached, "detached");

  const origin = engine.scope.getStore()?.origin;
  // A continuation stays in the tree of its sequence, a detached start in none but its own.
  const rootSequenceId = predecessor?.rootSequenceId ?? (isDetached ? id : (origin?.rootSequenceId ?? id));
  // Each property by its name: V8 would keep what begins with the properties of another object as a table, which is slow to
  // make and to read.
  const build = (input: unknown): NewJob => ({
    id,
    typeName,
    sequenceId: predecessor?.sequenceId ?? id,
    sequenceTypeName: predecessor?.sequenceTypeName ?? typeName,
    sequenceIndex: predecessor ? predecessor.sequenceIndex + 1 : 0,
    sequenceCreatedAt: predecessor?.sequenceCreatedAt ?? null,
    rootSequenceId,
    originId: predecessor?.id ?? origin?.jobId ?? null,
    traceContext: null,
    input: encodePayload({
      codec: engine.codec,
      value: input,
      path: "input",
      maxBytes: engine.maxPayloadBytes,
    }),
    schedule,
    awaitsBlockers: request.startBlockers !== undefined,
    deduplication,
    queue: settings.queue,
    priority: settings.priority,
    maxAttempts: settings.maxAttempts,
    maxAttemptsGiven: settings.maxAttemptsGiven,
    timeoutMs: settings.timeoutMs,
    expireAfterMs: settings.expireAfterMs,
    leaseMs: settings.leaseMs,
    onBlockerFailure: settings.onBlockerFailure,
    group: groupOf(engine, settings.group ?? findGroup(type, typeName, input)),
    ordered: settings.ordered,
  });
  if (!type.input) return build(request.input);
  return validateAgainstSchema(type, typeName, "input", request.input).then(({ value }) => build(value));
};
