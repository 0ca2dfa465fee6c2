import type { FailedJobs, StateCause } from "leasehold/adapter";
import type { Operation } from "../database/operation.ts";
import { defineRow, isInOptionalList, optionalList } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

// Times with this many digits sort as texts.
const digits = 16;

const failedRow = defineRow((columns): FailedJobs => ({
  fingerprint: columns.value("fingerprint", null),
  queue: columns.value("queue"),
  typeName: columns.value("type_name"),
  reason: columns.value("failure_reason"),
  count: columns.value("count(*)"),
  firstFailedAt: columns.value("min(failed_at)"),
  lastFailedAt: columns.value("max(failed_at)"),
  exampleId: columns.value(`substr(max(printf('%0${digits}d', failed_at) || id), ${digits + 1})`),
}));

const causeRow = defineRow((columns): StateCause => ({
  fingerprint: columns.value("fingerprint"),
  name: columns.value("name"),
  message: columns.value("message"),
  frame: columns.value("frame", null),
  deployment: columns.value("deployment", null),
  firstSeenAt: columns.value("first_seen_at"),
  lastSeenAt: columns.value("last_seen_at"),
}));

export const prepareListCauses = ({ job, failureCause, jobCauseIndex }: Tables): Operation<"listCauses"> => {
  // Without groups and recurring jobs it reads only the index, which has all other columns and only failed jobs.
  const matching = (
    isByOrigin: boolean,
  ): string => `SELECT fingerprint, queue, type_name, failure_reason, failed_at, id FROM ${job} INDEXED BY ${jobCauseIndex}
    WHERE failed_at IS NOT NULL AND ${isInOptionalList("queue")} AND ${isInOptionalList("type_name")}
    ${isByOrigin ? `AND ${isInOptionalList("group_key")} AND ${isInOptionalList("json_extract(recurrence, '$.id')")}` : ""}
    ORDER BY id DESC`;
  const countFailed = (
    isByOrigin: boolean,
  ): string => `SELECT ${failedRow.columns} FROM (${matching(isByOrigin)} LIMIT ?)
    GROUP BY fingerprint, queue, type_name, failure_reason, failed_at / CAST(? AS INTEGER)`;
  const hasMore = (isByOrigin: boolean): string => `SELECT 1 FROM (${matching(isByOrigin)} LIMIT 1 OFFSET ?)`;
  const findCauses = `SELECT ${causeRow.columns} FROM ${failureCause} WHERE fingerprint IN (SELECT value FROM json_each(?))`;

  return (db, { cap, queues, typeNames, groups, recurringJobIds, everyMs }) => {
    const isByOrigin = groups !== undefined || recurringJobIds !== undefined;
    const lists = isByOrigin ? [queues, typeNames, groups, recurringJobIds] : [queues, typeNames];
    const filter = lists.flatMap(optionalList);
    // Divided by null, all jobs are in the same time bucket.
    const failed = failedRow.all(db, countFailed(isByOrigin), [...filter, cap, everyMs ?? null]);
    const read = failed.reduce((sum, { count }) => sum + count, 0);
    const fingerprints = new Set(
      failed.map(({ fingerprint }) => fingerprint).filter((each) => each !== null),
    );
    return {
      failed,
      causes: causeRow.all(db, findCauses, [JSON.stringify([...fingerprints])]),
      capped: read === cap && db.first(hasMore(isByOrigin), [...filter, cap]) !== undefined,
    };
  };
};
