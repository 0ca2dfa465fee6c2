import { type FailureReason, failureReasons, type JobStatus, jobStatuses } from "leasehold";
import { HttpError } from "../http/errors.ts";
import { type Field, type Fields, listOf, timestamp, oneOf, optional, text } from "../http/fields.ts";
import type { Viewer } from "../http/rights.ts";

interface TimeFilters {
  readonly createdFrom: Date | undefined;
  readonly createdBefore: Date | undefined;
  readonly scheduledFrom: Date | undefined;
  readonly scheduledBefore: Date | undefined;
  readonly finishedFrom: Date | undefined;
  readonly finishedBefore: Date | undefined;
}

/** The filters of jobs, in addresses and in plans. */
export interface JobFilterQuery extends TimeFilters {
  readonly queue: readonly string[] | undefined;
  readonly typeName: readonly string[] | undefined;
  readonly sequenceTypeName: readonly string[] | undefined;
  readonly failureReason: readonly FailureReason[] | undefined;
  readonly deduplicationKey: readonly string[] | undefined;
  readonly fingerprint: readonly string[] | undefined;
  readonly leasedBy: readonly string[] | undefined;
  readonly rootSequenceId: string | undefined;
}

const time = optional(timestamp);

export const timeFields: Fields<TimeFilters> = {
  createdFrom: time,
  createdBefore: time,
  scheduledFrom: time,
  scheduledBefore: time,
  finishedFrom: time,
  finishedBefore: time,
};

const names = optional(listOf(text(), { max: 100 }));

export const filterFields: Fields<JobFilterQuery> = {
  queue: names,
  typeName: names,
  sequenceTypeName: names,
  failureReason: optional(listOf(oneOf(failureReasons), { max: failureReasons.length })),
  deduplicationKey: names,
  fingerprint: names,
  leasedBy: names,
  rootSequenceId: optional(text()),
  ...timeFields,
};

/** Whether jobs are due. A list that is read repeatedly uses the time of each read. */
export const dueTimes = ["now", "later"] as const;

export const scheduledWhen = (
  due: (typeof dueTimes)[number],
  now: number,
): { readonly scheduledFrom: Date } | { readonly scheduledBefore: Date } => {
  // A job that is due at exactly `now` can run.
  const next = new Date(now + 1);
  return due === "now" ? { scheduledBefore: next } : { scheduledFrom: next };
};

export const statusField: Field<readonly JobStatus[] | undefined> = optional(
  listOf(oneOf(jobStatuses), { max: jobStatuses.length }),
);

/** A viewer who may not see keys and inputs may not search them either: the number of jobs found would reveal them. */
export const requireFilterRights = (
  viewer: Viewer,
  filter: { readonly deduplicationKey?: unknown; readonly inputContains?: unknown } = {},
): void => {
  if (viewer.can.has("payloads")) return;
  const { deduplicationKey, inputContains } = filter;
  if (deduplicationKey !== undefined)
    throw new HttpError(403, "forbidden", 'To filter by key needs the right "payloads".');
  if (inputContains !== undefined)
    throw new HttpError(403, "forbidden", 'To search in inputs needs the right "payloads".');
};
