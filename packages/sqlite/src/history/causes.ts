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
  // Reads only the index, which has all of these columns and only failed jobs.
  const matching = `SELECT fingerprint, queue, type_name, failure_reason, failed_at, id FROM ${job} INDEXED BY ${jobCauseIndex}
    WHERE failed_at IS NOT NULL AND ${isInOptionalList("queue")} AND ${isInOptionalList("type_name")}
    ORDER BY id DESC`;
  const countFailed = `SELECT ${failedRow.columns} FROM (${matching} LIMIT ?)
    GROUP BY fingerprint, queue, type_name, failure_reason, failed_at / CAST(? AS INTEGER)`;
  const hasMore = `SELECT 1 FROM (${matching} LIMIT 1 OFFSET ?)`;
  const findCauses = `SELECT ${causeRow.columns} FROM ${failureCause} WHERE fingerprint IN (SELECT value FROM json_each(?))`;

  return (db, { cap, queues, typeNames, everyMs }) => {
    const filter = [...optionalList(queues), ...optionalList(typeNames)];
    // Divided by null, all jobs are in the same time bucket.
    const failed = failedRow.all(db, countFailed, [...filter, cap, everyMs ?? null]);
    const read = failed.reduce((sum, { count }) => sum + count, 0);
    const fingerprints = new Set(
      failed.map(({ fingerprint }) => fingerprint).filter((each) => each !== null),
    );
    return {
      failed,
      causes: causeRow.all(db, findCauses, [JSON.stringify([...fingerprints])]),
      capped: read === cap && db.first(hasMore, [...filter, cap]) !== undefined,
    };
  };
};
