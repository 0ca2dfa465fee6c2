import { encodePayload } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import {
  longestDurationMs,
  type OptionNames,
  requireBoolean,
  requireDeduplicationKey,
  requireFunction,
  requireId,
  requireInteger,
  requireName,
  requireNestedOptions,
  requireOneOf,
  type UncheckedOptions,
} from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import type { RuntimeJobType } from "../job-types/options.ts";
import { validateAgainstSchema } from "../job-types/registry.ts";
import {
  jobSettingNames,
  parseSchedule,
  readJobSettings,
  resolveJobSettings,
} from "../job-types/settings.ts";
import type { NewJob, NewJobDeduplication, OnDuplicate } from "../store/contract/creation.ts";
import type { JobSettings, Schedule, StateJob } from "../store/contract/job.ts";
import { JobAttemptEndedError, UnknownJobTypeError } from "../store/errors.ts";
import { requirePart } from "../store/parts.ts";
import type { DebounceOptions, DeduplicationOptions } from "./api/start.ts";

type Scope = NewJobDeduplication["scope"];

const strategies = ["unfinished", "completed", "all", "pending"] as const;

/** `"completed"` is another word for `"unfinished"`. */
const parseStrategy = (strategy: unknown): Scope => {
  if (strategy === undefined) return "unfinished";
  const known = requireOneOf(strategy, "deduplication.strategy", strategies);
  return known === "completed" ? "unfinished" : known;
};

const parseWindow = (windowMs: unknown, scope: Scope): number | null => {
  if (windowMs === undefined) return null;
  if (scope === "pending") {
    throw new InvalidOptionError(
      "deduplication.windowMs",
      'must be left out with the strategy "pending": a waiting job counts however long it has waited',
      windowMs,
    );
  }
  return requireInteger(windowMs, "deduplication.windowMs", { min: 1, max: Number.MAX_SAFE_INTEGER });
};

const option = "deduplication.onDuplicate";

/** Undefined for `keep`: a duplicate is left as it is. */
const parseOnDuplicate = (value: unknown): OnDuplicate | undefined => {
  if (value === undefined || value === "keep") return undefined;
  if (value === "replace") return value;
  if (typeof value !== "object" || value === null) {
    throw new InvalidOptionError(option, 'must be "keep", "replace" or { debounce: { maxDelayMs } }', value);
  }
  const { debounce } = requireNestedOptions(value, option, { debounce: true });
  const { maxDelayMs } = requireNestedOptions(debounce, `${option}.debounce`, { maxDelayMs: true });
  const limits = { min: 1, max: longestDurationMs };
  return { debounce: { maxDelayMs: requireInteger(maxDelayMs, `${option}.debounce.maxDelayMs`, limits) } };
};

const parseDeduplication = (value: unknown): NewJobDeduplication | null => {
  if (value === undefined) return null;
  const passed = requireNestedOptions<keyof DeduplicationOptions>(value, "deduplication", {
    key: true,
    windowMs: true,
    onDuplicate: true,
    strategy: true,
  });
  const scope = parseStrategy(passed.strategy);
  const onDuplicate = parseOnDuplicate(passed.onDuplicate);
  return {
    key: requireDeduplicationKey(passed.key, "deduplication.key"),
    scope,
    windowMs: parseWindow(passed.windowMs, scope),
    ...(onDuplicate && { onDuplicate }),
  };
};

interface Debounced {
  readonly schedule: Schedule;
  readonly deduplication: NewJobDeduplication;
}

/** `debounce` is short for a schedule and a deduplication, so it excludes both. */
const parseDebounce = ({ debounce, schedule, deduplication }: JobRequest): Debounced | undefined => {
  if (debounce === undefined) return undefined;
  for (const [name, value] of Object.entries({ schedule, deduplication }))
    if (value !== undefined)
      throw new InvalidOptionError(name, "must be left out with `debounce`, which implies it", value);
  const passed = requireNestedOptions<keyof DebounceOptions>(debounce, "debounce", {
    key: true,
    waitMs: true,
    maxWaitMs: true,
  });
  const waitMs = requireInteger(passed.waitMs, "debounce.waitMs", { min: 1, max: longestDurationMs });
  const maxWaitMs = requireInteger(passed.maxWaitMs, "debounce.maxWaitMs", {
    min: waitMs,
    max: longestDurationMs,
  });
  return {
    schedule: { afterMs: waitMs },
    deduplication: {
      key: requireDeduplicationKey(passed.key, "debounce.key"),
      // A start that finds the job running begins a second one, so that what has changed meanwhile is not lost.
      scope: "pending",
      windowMs: null,
      onDuplicate: { debounce: { maxDelayMs: maxWaitMs } },
    },
  };
};

/** The options of a new job, unchecked. */
export interface JobRequest extends Partial<UncheckedOptions<keyof JobSettings>> {
  readonly typeName: unknown;
  readonly input?: unknown;
  readonly id?: unknown;
  readonly schedule?: unknown;
  readonly deduplication?: unknown;
  readonly debounce?: unknown;
  readonly detached?: unknown;
  readonly startBlockers?: unknown;
}

export const continuationOptions: OptionNames<
  keyof Omit<JobRequest, "deduplication" | "debounce" | "detached">
> = {
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
  debounce: true,
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
  if (group !== null) requirePart(engine.store, "limits", "A job with a group");
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
  const debounced = parseDebounce(request);
  const schedule = debounced?.schedule ?? parseSchedule(request.schedule);
  const deduplication = debounced?.deduplication ?? parseDeduplication(request.deduplication);

  if (settings.expireAfterMs !== null) requirePart(engine.store, "edits", "expireAfterMs");
  if (deduplication?.scope === "pending")
    requirePart(engine.store, "edits", 'deduplication.strategy "pending"');
  if (deduplication?.onDuplicate) requirePart(engine.store, "edits", "deduplication.onDuplicate");

  const isDetached = request.detached !== undefined && requireBoolean(request.detached, "detached");

  const origin = engine.scope.getStore()?.origin;
  // The tree of a cancelled job does not grow. What is left to do, such as cleaning up, can be a tree of its own.
  if (origin?.attempt?.abortReason === "cancelled" && !predecessor && !isDetached)
    throw new JobAttemptEndedError(origin.jobId, "cancelled");
  if (origin && !isDetached) origin.hasStarted = true;
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
