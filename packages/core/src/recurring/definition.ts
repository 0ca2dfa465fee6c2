import { InvalidOptionError } from "../base/errors.ts";
import { longestDurationMs, optionalInteger, requireOneOf } from "../base/options.ts";
import type { NewJob } from "../store/contract/creation.ts";
import { createTimetable, type Timetable, type TimetableDefinition } from "./timetable.ts";

export const overlapPolicies = ["skip", "queue_one", "replace", "allow"] as const;
/** What to do at a time at which the sequence that was started last has not finished. */
export type OverlapPolicy = (typeof overlapPolicies)[number];

export const catchUpPolicies = ["last", "all", "none"] as const;
/** Which of the times that are due at once are run. */
export type CatchUpPolicy = (typeof catchUpPolicies)[number];

export interface RecurrencePolicies {
  readonly overlap: OverlapPolicy;
  readonly catchUp: CatchUpPolicy;
  readonly catchUpWindowMs: number;
  readonly jitterMs: number;
}

export const policyOptionNames = {
  overlap: true,
  catchUp: true,
  catchUpWindowMs: true,
  jitterMs: true,
} as const;

const dayMs = 86_400_000;

/** A run that begins within this time of what it was planned for is on time. */
export const onTimeMs = 60_000;

export const parsePolicies = (options: {
  readonly [K in keyof RecurrencePolicies]?: unknown;
}): RecurrencePolicies => {
  const overlap = requireOneOf(options.overlap ?? "skip", "overlap", overlapPolicies);
  const catchUp = requireOneOf(options.catchUp ?? "last", "catchUp", catchUpPolicies);
  if (catchUp === "all" && overlap !== "allow") {
    throw new InvalidOptionError(
      "catchUp",
      `"all" needs \`overlap: "allow"\`: with "${overlap}", the runs that are made up for would be in each other's way`,
    );
  }
  return {
    overlap,
    catchUp,
    catchUpWindowMs: optionalInteger(options.catchUpWindowMs, "catchUpWindowMs", dayMs, {
      min: onTimeMs,
      max: longestDurationMs,
    }),
    jitterMs: optionalInteger(options.jitterMs, "jitterMs", 0, { min: 0, max: dayMs }),
  };
};

/** The job to start, without what differs between runs. A process that ticks does not need to declare its type. */
export type JobTemplate = Omit<
  NewJob,
  | "id"
  | "sequenceId"
  | "sequenceTypeName"
  | "sequenceIndex"
  | "sequenceCreatedAt"
  | "rootSequenceId"
  | "originId"
  | "traceContext"
  | "schedule"
  | "awaitsBlockers"
  | "deduplication"
  | "recurrence"
>;

/** What is stored of a recurring job. Two that are equal as text are equal. */
export interface RecurringDefinition {
  readonly format: 1;
  readonly times: TimetableDefinition;
  readonly policies: RecurrencePolicies;
  readonly job: JobTemplate;
}

export const writeDefinition = ({ format, times, policies, job }: RecurringDefinition): string =>
  JSON.stringify({ format, times, policies, job });

export const readDefinition = (id: string, text: string): RecurringDefinition => {
  const definition = JSON.parse(text) as RecurringDefinition;
  // The type describes what this version writes; a later version may have written something else.
  if ((definition.format as number) !== 1) {
    throw new Error(`The recurring job "${id}" was put by a newer version of Leasehold, and is left to it.`);
  }
  return definition;
};

export const templateOf = (job: NewJob): JobTemplate => {
  const {
    id: _id,
    sequenceId: _sequenceId,
    sequenceTypeName: _sequenceTypeName,
    sequenceIndex: _sequenceIndex,
    sequenceCreatedAt: _sequenceCreatedAt,
    rootSequenceId: _rootSequenceId,
    originId: _originId,
    traceContext: _traceContext,
    schedule: _schedule,
    awaitsBlockers: _awaitsBlockers,
    deduplication: _deduplication,
    recurrence: _recurrence,
    ...template
  } = job;
  return template;
};

/** Zones change by law. `tz` is missing in runtimes that bring no zone data of their own. */
export const zoneDataVersion: string = process.versions["tz"] ?? "";

/** The version of the zone data that its times were computed with; empty if zone data cannot change them. */
export const zoneDataOf = ({ times }: RecurringDefinition): string =>
  "cron" in times && times.timeZone !== "UTC" ? zoneDataVersion : "";

export const timetableOf = ({ times }: RecurringDefinition): Timetable => createTimetable(times);
