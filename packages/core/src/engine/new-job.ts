import type { NewJob, NewJobDeduplication } from "../contracts/state-adapter.ts";
import { InvalidOptionError, UnknownJobTypeError } from "../errors.ts";
import { encodePayload } from "../model/codec.ts";
import type { StateJob } from "../model/job.ts";
import type { RuntimeJobType } from "../model/job-type-options.ts";
import { largestInt32, longestDurationMs } from "../model/limits.ts";
import {
  type OptionNames,
  requireBoolean,
  requireDeduplicationKey,
  requireFunction,
  requireId,
  requireInteger,
  requireName,
  requireNestedOptions,
  requireOneOf,
} from "../model/option-checks.ts";
import { parseSchedule } from "../model/parse-schedule.ts";
import type { Engine } from "./engine.ts";
import { validateAgainstSchema } from "./job-type-registry.ts";

export const defaultQueue = "default";

/** What may be said about one job, whether it starts a sequence or continues one. Unchecked. */
export interface JobRequest {
  readonly typeName: unknown;
  readonly input?: unknown;
  readonly id?: unknown;
  readonly queue?: unknown;
  readonly priority?: unknown;
  readonly maxAttempts?: unknown;
  readonly timeoutMs?: unknown;
  readonly schedule?: unknown;
  readonly deduplication?: unknown;
  readonly detached?: unknown;
  readonly startBlockers?: unknown;
}

export const continuationOptions: OptionNames<keyof Omit<JobRequest, "deduplication" | "detached">> = {
  typeName: true,
  input: true,
  id: true,
  queue: true,
  priority: true,
  maxAttempts: true,
  timeoutMs: true,
  schedule: true,
  startBlockers: true,
};
export const startOptions: OptionNames<keyof JobRequest> = {
  ...continuationOptions,
  deduplication: true,
  detached: true,
};

const parseDeduplication = (value: unknown): NewJobDeduplication | null => {
  if (value === undefined) return null;
  const { key, strategy, windowMs } = requireNestedOptions<"key" | "strategy" | "windowMs">(
    value,
    "deduplication",
    {
      key: true,
      strategy: true,
      windowMs: true,
    },
  );
  return {
    key: requireDeduplicationKey(key, "deduplication.key"),
    scope:
      strategy === undefined ||
      requireOneOf(strategy, "deduplication.strategy", ["completed", "all"]) === "completed"
        ? "unfinished"
        : "all",
    windowMs:
      windowMs === undefined
        ? null
        : requireInteger(windowMs, "deduplication.windowMs", { min: 1, max: Number.MAX_SAFE_INTEGER }),
  };
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

const smallest = (...values: (number | undefined)[]): number | undefined => {
  const given = values.filter((value) => value !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
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
  const integer = (
    option: "priority" | "maxAttempts" | "timeoutMs",
    min: number,
    max: number,
  ): number | undefined =>
    request[option] === undefined ? undefined : requireInteger(request[option], option, { min, max });

  const id = request.id === undefined ? engine.createId() : requireId(request.id, "id");
  const queue =
    request.queue === undefined ? (type.queue ?? defaultQueue) : requireName(request.queue, "queue");
  const priority = integer("priority", -largestInt32, largestInt32) ?? type.priority ?? 0;
  const maxAttempts = integer("maxAttempts", 1, largestInt32);
  const timeoutMs = smallest(integer("timeoutMs", 1, longestDurationMs), type.timeoutMs) ?? null;
  const schedule = parseSchedule(request.schedule);
  const deduplication = parseDeduplication(request.deduplication);

  const isDetached = request.detached !== undefined && requireBoolean(request.detached, "detached");

  const origin = engine.scope.getStore()?.origin;
  // A continuation stays in the tree of its sequence, a detached start in none but its own.
  const rootSequenceId = predecessor?.rootSequenceId ?? (isDetached ? id : (origin?.rootSequenceId ?? id));
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
    queue,
    priority,
    input: encodePayload({
      codec: engine.codec,
      value: input,
      path: "input",
      maxBytes: engine.maxPayloadBytes,
    }),
    schedule,
    maxAttempts: maxAttempts ?? type.maxAttempts ?? engine.defaults.maxAttempts,
    maxAttemptsGiven: maxAttempts !== undefined,
    timeoutMs,
    leaseMs: type.leaseMs ?? null,
    onBlockerFailure: type.onBlockerFailure ?? "fail",
    awaitsBlockers: request.startBlockers !== undefined,
    deduplication,
  });
  if (!type.input) return build(request.input);
  return validateAgainstSchema(type, typeName, "input", request.input).then(({ value }) => build(value));
};
