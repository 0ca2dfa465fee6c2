import type { JobFilter } from "leasehold/adapter";
import type { Document } from "mongodb";

const within = (from: number | undefined, before: number | undefined): Document | undefined =>
  from === undefined && before === undefined
    ? undefined
    : {
        ...(from === undefined ? {} : { $gte: new Date(from) }),
        ...(before === undefined ? {} : { $lt: new Date(before) }),
      };

const oneOf = (values: readonly string[] | undefined): Document | undefined =>
  values === undefined ? undefined : { $in: [...values] };

/** Every value is compared as a value, never read as an operator. */
export const toMongoFilter = (filter: JobFilter): Document => {
  const conditions: Record<string, Document | undefined> = {
    _id: oneOf(filter.ids),
    status: oneOf(filter.statuses),
    queue: oneOf(filter.queues),
    typeName: oneOf(filter.typeNames),
    sequenceTypeName: oneOf(filter.sequenceTypeNames),
    deduplicationKey: oneOf(filter.deduplicationKeys),
    failureReason: oneOf(filter.failureReasons),
    leasedBy: oneOf(filter.leasedBy),
    sequenceId: filter.sequenceId === undefined ? undefined : { $eq: filter.sequenceId },
    rootSequenceId: filter.rootSequenceId === undefined ? undefined : { $eq: filter.rootSequenceId },
    sequenceIndex: filter.firstOf === "sequence" ? { $eq: 0 } : undefined,
    isRoot: filter.firstOf === "tree" ? { $eq: true } : undefined,
    createdAt: within(filter.createdFrom, filter.createdBefore),
    scheduledAt: within(filter.scheduledFrom, filter.scheduledBefore),
    finishedAt: within(filter.finishedFrom, filter.finishedBefore),
  };
  const given = Object.fromEntries(
    Object.entries(conditions).filter(([, condition]) => condition !== undefined),
  );
  if (filter.inputContains === undefined) return given;
  return {
    ...given,
    $expr: { $gte: [{ $indexOfBytes: ["$input", { $literal: filter.inputContains }] }, 0] },
  };
};
