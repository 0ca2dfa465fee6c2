import type { Reports, StatisticsBucket, StateProcess } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow, firstNumber, isInOptionalList, optionalList } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

type ReportOperations = { readonly [TMethod in keyof Reports<object>]: Operation<TMethod> };

const processRow = defineRow((columns): StateProcess => ({
  id: columns.value("id"),
  deployment: columns.value("deployment", null),
  startedAt: columns.value("started_at"),
  seenAt: columns.value("seen_at"),
  info: columns.value("info"),
}));

const bucketRow = defineRow((columns): StatisticsBucket => ({
  bucketMs: columns.value("bucket_ms"),
  from: columns.value("starts_at"),
  queue: columns.value("queue"),
  typeName: columns.value("type_name"),
  deployment: columns.value("deployment"),
  processId: columns.value("process_id"),
  counts: columns.value("counts"),
}));

const keyColumns = ["bucket_ms", "starts_at", "queue", "type_name", "deployment", "process_id"] as const;

const keyOf = ({
  bucketMs,
  from,
  queue,
  typeName,
  deployment,
  processId,
}: StatisticsBucket): SqliteValue[] => [bucketMs, from, queue, typeName, deployment, processId];

/** Buckets as one value of a statement, each an array in the order of the columns. */
const toText = (buckets: readonly StatisticsBucket[]): string =>
  JSON.stringify(buckets.map((each) => [...keyOf(each), each.counts]));

const fields = [...keyColumns, "counts"].map((_column, index) => `given.value ->> ${index}`);

export const prepareReports = ({
  job,
  process,
  statisticsBucket,
  failureCause,
}: Tables): ReportOperations => {
  const putProcess = `INSERT INTO ${process} (${processRow.columns}) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET deployment = excluded.deployment, started_at = excluded.started_at,
      seen_at = excluded.seen_at, info = excluded.info`;
  const insertBuckets = `INSERT INTO ${statisticsBucket} (${bucketRow.columns})
    SELECT ${fields.join(", ")} FROM json_each(?) AS given WHERE 1`;
  const putBuckets = `${insertBuckets}
    ON CONFLICT (${keyColumns.join(", ")}) DO UPDATE SET counts = excluded.counts`;
  const putCause = `INSERT INTO ${failureCause} (fingerprint, name, message, frame, deployment, first_seen_at, last_seen_at)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (fingerprint) DO UPDATE SET last_seen_at = excluded.last_seen_at`;
  const listProcesses = `SELECT ${processRow.columns} FROM ${process}
    WHERE seen_at >= ? ORDER BY seen_at DESC, id LIMIT ?`;
  const readBuckets = `SELECT ${bucketRow.columns} FROM ${statisticsBucket}
    WHERE bucket_ms = ? AND starts_at >= ? AND starts_at < ? AND ${isInOptionalList("queue")} AND ${isInOptionalList("type_name")}
    ORDER BY starts_at, queue, type_name, deployment, process_id LIMIT ?`;

  const stored = `FROM json_each(?) AS given CROSS JOIN ${statisticsBucket} AS r
    ON ${keyColumns.map((column, index) => `r.${column} = given.value ->> ${index}`).join(" AND ")}`;
  const countAsGiven = `SELECT count(*) ${stored} WHERE r.counts = given.value ->> ${keyColumns.length}`;
  const countStored = `SELECT count(*) ${stored}`;
  // One by one: for a list, SQLite would read all rows of a time bucket for each.
  const removeBucket = `DELETE FROM ${statisticsBucket} WHERE ${keyColumns.map((column) => `${column} = ?`).join(" AND ")}`;

  const deleteProcesses = `DELETE FROM ${process} WHERE id IN
    (SELECT id FROM ${process} WHERE seen_at < ? ORDER BY seen_at LIMIT ?)`;
  const deleteCauses = `DELETE FROM ${failureCause} WHERE fingerprint IN
    (SELECT c.fingerprint FROM ${failureCause} AS c WHERE c.last_seen_at < ?
      AND NOT EXISTS (SELECT 1 FROM ${job} AS j WHERE j.fingerprint = c.fingerprint) LIMIT ?)`;
  const findOld = `SELECT ${bucketRow.columns} FROM ${statisticsBucket} WHERE bucket_ms = ? AND starts_at < ? ORDER BY starts_at LIMIT ?`;

  /** Whether all rows to remove are as they were read, and no other row has the key of a row to put. */
  const canRollUp = (
    db: SqliteConnection,
    remove: readonly StatisticsBucket[],
    put: readonly StatisticsBucket[],
  ): boolean => {
    if (firstNumber(db, countAsGiven, [toText(remove)]) !== remove.length) return false;
    const removed = new Set(remove.map((each) => JSON.stringify(keyOf(each))));
    const added = put.filter((each) => !removed.has(JSON.stringify(keyOf(each))));
    return firstNumber(db, countStored, [toText(added)]) === 0;
  };

  return {
    writeReport: (db, { reporter: own, buckets, causes, maxAgeMs }, now) => {
      db.run(putProcess, [own.id, own.deployment, own.startedAt, now, own.info]);
      const recent = buckets.filter(({ from }) => from >= now - maxAgeMs);
      if (recent.length > 0) db.run(putBuckets, [toText(recent)]);
      for (const { fingerprint, name, message, frame, deployment } of causes)
        db.run(putCause, [fingerprint, name, message, frame, deployment, now, now]);
      return now;
    },
    listProcesses: (db, { seenFrom, limit }) => processRow.all(db, listProcesses, [seenFrom, limit]),
    readBuckets: (db, { bucketMs, from, before, queues, typeNames, limit }) =>
      bucketRow.all(db, readBuckets, [
        bucketMs,
        from,
        before,
        ...optionalList(queues),
        ...optionalList(typeNames),
        limit,
      ]),
    rollUpBuckets: (db, { remove, put }) => {
      // Checks all rows before the first write: the transaction may contain other writes, which must stay.
      if (!canRollUp(db, remove, put)) return false;
      for (const each of remove) db.run(removeBucket, keyOf(each));
      db.run(insertBuckets, [toText(put)]);
      return true;
    },
    deleteOldReports: (db, { processesBefore, causesBefore, buckets, limit }) => {
      let deleted = db.run(deleteProcesses, [processesBefore, limit]);
      for (const { bucketMs, before } of buckets) {
        const old = bucketRow.all(db, findOld, [bucketMs, before, limit - deleted]);
        for (const each of old) db.run(removeBucket, keyOf(each));
        deleted += old.length;
      }
      return deleted + db.run(deleteCauses, [causesBefore, limit - deleted]);
    },
  };
};
