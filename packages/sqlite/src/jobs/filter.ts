import { type JobFilter, type JobStatus, jobStatuses } from "leasehold/adapter";
import type { SqliteValue } from "../database/connection.ts";
import type { Tables } from "../database/tables.ts";
import { inputOf } from "../rows/long-inputs.ts";

export interface Condition {
  /** For after `WHERE`, with jobs under the alias `j`. */
  readonly sql: string;
  readonly values: readonly SqliteValue[];
}

/** The recurring job in the text that core has written, as it is indexed. */
const recurringJobId = "json_extract(j.recurrence, '$.id')";

const isOneOf = (column: string): string => `${column} IN (SELECT value FROM json_each(?))`;

// The index of sequences leaves out their first jobs, and the index of trees leaves out the first job of the root: these
// are found by their own id.
const ofSequence = "(j.id = ? AND j.sequence_id = j.id OR j.sequence_id = ? AND j.sequence_index > 0)";

const ofTree =
  "(j.id = ? AND j.root_sequence_id = j.id OR j.root_sequence_id = ? AND j.id <> j.root_sequence_id)";

const isStatus = (value: string): value is JobStatus => jobStatuses.some((status) => status === value);

export const toCondition = (filter: JobFilter, tables: Tables): Condition => {
  const parts: string[] = ["1"];
  const values: SqliteValue[] = [];
  const add = (sql: string, ...more: SqliteValue[]): void => {
    parts.push(sql);
    values.push(...more);
  };
  const addList = (column: string, wanted: readonly string[] | undefined): void => {
    if (wanted !== undefined) add(isOneOf(column), JSON.stringify(wanted));
  };
  // An index has the order of a page only for a comparison with one value.
  const addAmong = (column: string, wanted: readonly string[] | undefined): void => {
    if (wanted?.length === 1) add(`${column} = ?`, wanted[0]!);
    else addList(column, wanted);
  };
  const addBound = (sql: string, bound: number | undefined): void => {
    if (bound !== undefined) add(sql, bound);
  };

  addList("j.id", filter.ids);
  if (filter.idPrefix !== undefined)
    add("j.id >= ? AND j.id < ?", filter.idPrefix, `${filter.idPrefix}\u{10ffff}`);
  // SQLite uses the index of a status only if the status is in the text of the statement. Only known statuses go there.
  const [status, ...otherStatuses] = filter.statuses ?? [];
  if (status !== undefined && otherStatuses.length === 0 && isStatus(status)) add(`j.status = '${status}'`);
  else addList("j.status", filter.statuses);
  addList("j.queue", filter.queues);
  addList("j.type_name", filter.typeNames);
  addList("j.sequence_type_name", filter.sequenceTypeNames);
  addList("j.deduplication_key", filter.deduplicationKeys);
  // True for every job with a key: SQLite uses the index only if the condition of the index is in the statement.
  if (filter.deduplicationKeys !== undefined) add("j.deduplication_open IS NOT NULL");
  addAmong("j.group_key", filter.groups);
  addAmong(recurringJobId, filter.recurringJobIds);
  if (filter.recurringJobIds !== undefined) add("j.recurrence IS NOT NULL");
  addList("j.failure_reason", filter.failureReasons);
  if (filter.fingerprints !== undefined) {
    add("j.status = 'failed'");
    // For a list in one JSON value, SQLite cannot estimate the length and scans all fingerprints. With one parameter per
    // fingerprint it searches the index, for a single one in the order of the listing.
    const marks = filter.fingerprints.map(() => "?").join(", ");
    add(`j.fingerprint IN (${marks})`, ...filter.fingerprints);
  }
  if (filter.leasedBy !== undefined) {
    add("j.status = 'running'");
    addList("j.leased_by", filter.leasedBy);
  }
  if (filter.sequenceId !== undefined) add(ofSequence, filter.sequenceId, filter.sequenceId);
  if (filter.rootSequenceId !== undefined) add(ofTree, filter.rootSequenceId, filter.rootSequenceId);
  if (filter.firstOf === "sequence") add("j.sequence_id = j.id");
  if (filter.firstOf === "tree") add("j.root_sequence_id = j.id");
  if (filter.inputContains !== undefined) add(`instr(${inputOf(tables, "j")}, ?) > 0`, filter.inputContains);
  addBound("j.created_at >= ?", filter.createdFrom);
  addBound("j.created_at < ?", filter.createdBefore);
  addBound("j.scheduled_at >= ?", filter.scheduledFrom);
  addBound("j.scheduled_at < ?", filter.scheduledBefore);
  addBound("coalesce(j.completed_at, j.failed_at) >= ?", filter.finishedFrom);
  addBound("coalesce(j.completed_at, j.failed_at) < ?", filter.finishedBefore);
  return { sql: parts.join(" AND "), values };
};

const namesJobs = ({ ids, idPrefix, sequenceId, rootSequenceId }: JobFilter): boolean =>
  ids !== undefined || idPrefix !== undefined || sequenceId !== undefined || rootSequenceId !== undefined;

/** Whether an index leads to the jobs of the filter, so that few jobs are read. */
export const isNarrow = (filter: JobFilter): boolean =>
  namesJobs(filter) ||
  filter.fingerprints !== undefined ||
  filter.leasedBy !== undefined ||
  // All jobs that have failed may be too many to search their inputs at once.
  (filter.inputContains === undefined &&
    filter.statuses?.length === 1 &&
    ["failed", "running"].includes(filter.statuses[0]!));

/**
 * The index to name in a statement with this filter, if any.
 *
 * - Where the statistics show few deduplication keys, SQLite scans all jobs for a key, which is slow even if few jobs match.
 * - For several fingerprints, SQLite scans all failed jobs, whose index has the order of the listing. That is slow where most
 *   jobs failed with other errors.
 * - For the jobs of a group or of a recurring job, SQLite scans the index of creation, which has the order of the listing.
 * - For the jobs of some workers, SQLite scans all jobs for the same reason, although only running jobs can match.
 */
export const indexFor = (
  filter: JobFilter,
  { keyIndex, fingerprintIndex, runningIndex, ownGroupIndex, startedByIndex }: Tables,
): string => {
  // With an empty list in its text, a statement finds nothing, and SQLite rejects a named index.
  if (namesJobs(filter) || filter.fingerprints?.length === 0) return "";
  if (filter.fingerprints !== undefined) return `INDEXED BY ${fingerprintIndex}`;
  if (filter.leasedBy !== undefined) return `INDEXED BY ${runningIndex}`;
  if (isNarrow(filter)) return "";
  if (filter.groups?.length === 1) return `INDEXED BY ${ownGroupIndex}`;
  if (filter.recurringJobIds?.length === 1) return `INDEXED BY ${startedByIndex}`;
  const isByKey = filter.deduplicationKeys !== undefined && filter.sequenceTypeNames !== undefined;
  return isByKey ? `INDEXED BY ${keyIndex}` : "";
};
