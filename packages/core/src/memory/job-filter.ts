import type { JobFilter } from "../store/contract/reads.ts";
import type { StoredJob } from "./job-record.ts";
import type { StoreView } from "./store-view.ts";

const isOneOf = <T>(wanted: readonly T[] | undefined, value: T | null): boolean =>
  wanted === undefined || (value !== null && wanted.includes(value));

const isWithin = (from: number | undefined, before: number | undefined, moment: number | null): boolean =>
  (from === undefined && before === undefined) ||
  (moment !== null && (from === undefined || moment >= from) && (before === undefined || moment < before));

const matches = ({ row, history }: StoredJob, filter: JobFilter): boolean =>
  isOneOf(filter.ids, row.id) &&
  isOneOf(filter.statuses, row.status) &&
  isOneOf(filter.queues, row.queue) &&
  isOneOf(filter.typeNames, row.typeName) &&
  isOneOf(filter.sequenceTypeNames, row.sequenceTypeName) &&
  isOneOf(filter.deduplicationKeys, row.deduplicationKey) &&
  isOneOf(filter.failureReasons, row.failureReason) &&
  isOneOf(filter.fingerprints, history?.fingerprint ?? null) &&
  isOneOf(filter.leasedBy, row.leasedBy) &&
  (filter.sequenceId === undefined || filter.sequenceId === row.sequenceId) &&
  (filter.rootSequenceId === undefined || filter.rootSequenceId === row.rootSequenceId) &&
  (filter.firstOf !== "sequence" || row.id === row.sequenceId) &&
  (filter.firstOf !== "tree" || row.id === row.rootSequenceId) &&
  (filter.inputContains === undefined || row.input.includes(filter.inputContains)) &&
  isWithin(filter.createdFrom, filter.createdBefore, row.createdAt) &&
  isWithin(filter.scheduledFrom, filter.scheduledBefore, row.scheduledAt) &&
  isWithin(filter.finishedFrom, filter.finishedBefore, row.completedAt ?? row.failedAt);

/** The jobs a filter could match, without going through all where it names something narrower. */
const candidates = function* (view: StoreView, filter: JobFilter): Iterable<StoredJob> {
  if (filter.ids !== undefined) {
    for (const id of new Set(filter.ids)) {
      const job = view.find(id);
      if (job !== undefined) yield job;
    }
  } else if (filter.sequenceId !== undefined) yield* view.members(filter.sequenceId);
  else if (filter.rootSequenceId !== undefined) yield* view.tree(filter.rootSequenceId);
  else yield* view.jobs();
};

/** The jobs that a filter matches. */
export function* filtered(view: StoreView, filter: JobFilter): Iterable<StoredJob> {
  for (const job of candidates(view, filter)) if (matches(job, filter)) yield job;
}
