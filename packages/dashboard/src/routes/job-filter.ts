import { type FailureReason, failureReasons, type JobStatus, jobStatuses } from "leasehold";
import { type Field, type Fields, listOf, moment, oneOf, optional, text } from "../server/fields.ts";

/** The filters of jobs, in addresses and in plans. */
export interface JobFilterQuery {
  readonly queue: readonly string[] | undefined;
  readonly typeName: readonly string[] | undefined;
  readonly sequenceTypeName: readonly string[] | undefined;
  readonly failureReason: readonly FailureReason[] | undefined;
  readonly deduplicationKey: readonly string[] | undefined;
  readonly fingerprint: readonly string[] | undefined;
  readonly leasedBy: readonly string[] | undefined;
  readonly rootSequenceId: string | undefined;
  readonly createdFrom: Date | undefined;
  readonly createdBefore: Date | undefined;
  readonly finishedFrom: Date | undefined;
  readonly finishedBefore: Date | undefined;
}

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
  createdFrom: optional(moment),
  createdBefore: optional(moment),
  finishedFrom: optional(moment),
  finishedBefore: optional(moment),
};

export const statusField: Field<readonly JobStatus[] | undefined> = optional(
  listOf(oneOf(jobStatuses), { max: jobStatuses.length }),
);
