import type { JobFilter, JobPage, ListJobsCall, PagePosition } from "../store/contract/reads.ts";
import { recurringJobIdOf } from "../store/rules/transitions.ts";
import { getOrAdd, type JobRecord } from "./groups.ts";
import { dependantsOf, type Operation, type Rows, sequenceOf, treeOf } from "./rows.ts";

export const isOneOf = <T>(wanted: readonly T[] | undefined, value: T | null): boolean =>
  wanted === undefined || (value !== null && wanted.includes(value));

const isWithin = (from: number | undefined, before: number | undefined, time: number | null): boolean =>
  (from === undefined && before === undefined) ||
  (time !== null && (from === undefined || time >= from) && (before === undefined || time < before));

const matches = ({ row, fingerprint }: JobRecord, filter: JobFilter): boolean =>
  isOneOf(filter.ids, row.id) &&
  (filter.idPrefix === undefined || row.id.startsWith(filter.idPrefix)) &&
  isOneOf(filter.statuses, row.status) &&
  isOneOf(filter.queues, row.queue) &&
  isOneOf(filter.typeNames, row.typeName) &&
  isOneOf(filter.sequenceTypeNames, row.sequenceTypeName) &&
  isOneOf(filter.deduplicationKeys, row.deduplicationKey) &&
  isOneOf(filter.groups, row.group) &&
  (filter.recurringJobIds === undefined ||
    isOneOf(filter.recurringJobIds, recurringJobIdOf(row.recurrence))) &&
  isOneOf(filter.failureReasons, row.failureReason) &&
  isOneOf(filter.fingerprints, fingerprint) &&
  isOneOf(filter.leasedBy, row.leasedBy) &&
  (filter.sequenceId === undefined || filter.sequenceId === row.sequenceId) &&
  (filter.rootSequenceId === undefined || filter.rootSequenceId === row.rootSequenceId) &&
  (filter.firstOf !== "sequence" || row.id === row.sequenceId) &&
  (filter.firstOf !== "tree" || row.id === row.rootSequenceId) &&
  (filter.inputContains === undefined || row.input.includes(filter.inputContains)) &&
  isWithin(filter.createdFrom, filter.createdBefore, row.createdAt) &&
  isWithin(filter.scheduledFrom, filter.scheduledBefore, row.scheduledAt) &&
  isWithin(filter.finishedFrom, filter.finishedBefore, row.completedAt ?? row.failedAt);

/** The jobs that the filter matches. Reads all jobs, unless it names jobs, a sequence or a tree. */
export function* filtered(rows: Rows, filter: JobFilter): Iterable<JobRecord> {
  const { sequenceId, rootSequenceId = sequenceId && rows.jobs.get(sequenceId)?.row.rootSequenceId } = filter;
  let candidates: Iterable<JobRecord> = rows.jobs.values();
  if (filter.ids !== undefined)
    candidates = [...new Set(filter.ids)].flatMap((id) => rows.jobs.get(id) ?? []);
  else if (rootSequenceId !== undefined) candidates = treeOf(rows, rootSequenceId);
  for (const record of candidates) if (matches(record, filter)) yield record;
}

type PageCall = Pick<ListJobsCall, "order" | "limit" | "after">;

const toPage = (records: Iterable<JobRecord>, { order, limit, after }: PageCall): JobPage => {
  const direction = order === "oldest" ? 1 : -1;
  const compare = (a: PagePosition, b: PagePosition): number =>
    direction * (a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const matching = Array.from(records, ({ row }) => row).filter((row) => !after || compare(row, after) > 0);
  const jobs = matching.sort(compare).slice(0, limit);
  const last = matching.length > jobs.length ? jobs.at(-1) : undefined;
  return { jobs, next: last === undefined ? null : { createdAt: last.createdAt, id: last.id } };
};

export const listJobs: Operation<"listJobs"> = (rows, call) => toPage(filtered(rows, call.filter), call);

export const listBlockedJobs: Operation<"listBlockedJobs"> = (rows, call) =>
  toPage(dependantsOf(rows, call.sequenceId), { ...call, order: "oldest" });

export const getJobs: Operation<"getJobs"> = ({ jobs }, { jobIds }) => jobIds.map((id) => jobs.get(id)?.row);

export const getSequences: Operation<"getSequences"> = (rows, { sequenceIds }) =>
  sequenceIds.map((id) => sequenceOf(rows, id));

export const getBlockers: Operation<"getBlockers"> = (rows, { jobIds }) =>
  jobIds.map((jobId) => (rows.jobs.get(jobId)?.blockerIds ?? []).flatMap((id) => sequenceOf(rows, id) ?? []));

/** Jobs with the same key come into one group. */
export const groupBy = (records: Iterable<JobRecord>, keyOf: (job: JobRecord) => unknown): JobRecord[][] => {
  const groups = new Map<string, JobRecord[]>();
  for (const record of records) getOrAdd(groups, JSON.stringify(keyOf(record)), () => []).push(record);
  return [...groups.values()];
};

export const countJobs: Operation<"countJobs"> = (rows, { filter }) =>
  groupBy(filtered(rows, filter), ({ row }) => [row.queue, row.typeName, row.status]).map((group) => {
    const { queue, typeName, status } = group[0]!.row;
    return { queue, typeName, status, count: group.length };
  });

export const listRecentlyFinished: Operation<"listRecentlyFinished"> = (rows, { from, limit }) =>
  Array.from(filtered(rows, { statuses: ["completed", "failed"], finishedFrom: from }), ({ row }) => {
    const { queue, typeName, createdAt, completedAt, failedAt } = row;
    const status = row.status as "completed" | "failed";
    return { queue, typeName, status, createdAt, finishedAt: completedAt ?? failedAt! };
  })
    .sort((a, b) => b.finishedAt - a.finishedAt)
    .slice(0, limit);

// There is no database that could need a check.
export const runChecks: Operation<"runChecks"> = () => [];

export const estimateJobs: Operation<"estimateJobs"> = ({ jobs }, { limit }) => Math.min(jobs.size, limit);
