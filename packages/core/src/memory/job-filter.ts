import type { JobFilter } from "../contracts/state-adapter.ts";
import type { StateJob } from "../model/job.ts";

const isOneOf = <T>(wanted: readonly T[] | undefined, value: T | null): boolean =>
  wanted === undefined || (value !== null && wanted.includes(value));

const isWithin = (from: number | undefined, before: number | undefined, moment: number | null): boolean =>
  (from === undefined && before === undefined) ||
  (moment !== null && (from === undefined || moment >= from) && (before === undefined || moment < before));

export const matches = (row: StateJob, filter: JobFilter): boolean =>
  isOneOf(filter.ids, row.id) &&
  isOneOf(filter.statuses, row.status) &&
  isOneOf(filter.queues, row.queue) &&
  isOneOf(filter.typeNames, row.typeName) &&
  isOneOf(filter.sequenceTypeNames, row.sequenceTypeName) &&
  isOneOf(filter.deduplicationKeys, row.deduplicationKey) &&
  isOneOf(filter.failureReasons, row.failureReason) &&
  (filter.sequenceId === undefined || filter.sequenceId === row.sequenceId) &&
  (filter.rootSequenceId === undefined || filter.rootSequenceId === row.rootSequenceId) &&
  (filter.firstOf !== "sequence" || row.id === row.sequenceId) &&
  (filter.firstOf !== "tree" || row.id === row.rootSequenceId) &&
  (filter.inputContains === undefined || row.input.includes(filter.inputContains)) &&
  isWithin(filter.createdFrom, filter.createdBefore, row.createdAt) &&
  isWithin(filter.finishedFrom, filter.finishedBefore, row.completedAt ?? row.failedAt);
