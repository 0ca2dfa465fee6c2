import {
  failureReasons,
  type JobFilterField,
  jobFilterFields,
  type JobFilterOptions,
  type JobStatus,
  jobStatuses,
} from "leasehold";
import { HttpError } from "../http/errors.ts";
import { type Field, type Fields, listOf, timestamp, oneOf, optional, text } from "../http/fields.ts";
import type { Viewer } from "../http/rights.ts";

type FilterOptions = Required<JobFilterOptions<Record<string, never>, string>>;

/** Of one value or several: several. */
type QueryValue<T> = Extract<T, readonly unknown[]> extends never ? T : Extract<T, readonly unknown[]>;

type QueryName = Exclude<JobFilterField["name"], "id" | "idPrefix" | "status" | "sequenceId">;

/** The filters of jobs, in addresses and in plans. */
export type JobFilterQuery = {
  readonly [TName in QueryName]: QueryValue<NonNullable<FilterOptions[TName]>> | undefined;
};

const ownFields: ReadonlySet<string> = new Set(["id", "idPrefix", "status", "sequenceId"]);

/** Fields of the query and of plans; statuses and ids have their own. */
export const queryFields: readonly JobFilterField[] = jobFilterFields.filter(
  ({ name }) => !ownFields.has(name),
);

const fieldOf = ({ kind, many }: JobFilterField): Field<unknown> => {
  if (kind === "time") return optional(timestamp);
  const item: Field<string> = kind === "reason" ? oneOf(failureReasons) : text();
  return many ? optional(listOf(item, { max: 100 })) : optional(item);
};

export const filterFields: Fields<JobFilterQuery> = Object.fromEntries(
  queryFields.map((field) => [field.name, fieldOf(field)]),
) as Fields<JobFilterQuery>;

export const isTimeField = (name: string): boolean =>
  queryFields.some((field) => field.name === name && field.kind === "time");

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
