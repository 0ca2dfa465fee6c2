import type { NewJob } from "../../contracts/state-adapter.ts";
import type { RecurrencePolicies } from "../../model/recurrence/policies.ts";
import {
  createTimetable,
  type Timetable,
  type TimetableDefinition,
} from "../../model/recurrence/timetable.ts";

/** The job to be started, complete but for what each one has of its own: whoever ticks need not know its type. */
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
  // The type says what this version writes; a later one may have written something else.
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

/** The version by which its times were computed; empty for those that no zone data can change. */
export const zoneDataOf = ({ times }: RecurringDefinition): string =>
  "cron" in times && times.timeZone !== "UTC" ? zoneDataVersion : "";

export const timetableOf = ({ times }: RecurringDefinition): Timetable => createTimetable(times);
