import type { Reports, StatisticsBucket, StateProcess } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow, firstNumber, isInOptionalList, optionalList } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

type ReportOperations = { readonly [TMethod in keyof Reports<object>]: Operation<TMethod> };

const reporterRow = defineRow((columns): StateProcess => ({
  id: columns.value("id"),
  deployment: columns.value("deployment", null),
  startedAt: columns.value("started_at"),
  seenAt: columns.value("seen_at"),
  about: columns.value("info"),
}));

const rollupRow = defineRow((columns): StatisticsBucket => ({
  width: columns.value("bucket_ms"),
  from: columns.value("starts_at"),
  queue: columns.value("queue"),
  typeName: columns.value("type_name"),
  deployment: columns.value("deployment"),
  reporterId: columns.value("process_id"),
  counts: columns.value("counts"),
}));

const keyColumns = ["bucket_ms", "starts_at", "queue", "type_name", "deployment", "process_id"] as const;

const keyOf = ({ width, from, queue, typeName, deployment, reporterId }: StatisticsBucket): SqliteValue[] => [
  width,
  from,
  queue,
  typeName,
  deployment,
  reporterId,
];

/** Rollups as one value of a statement, each an array in the order of the columns. */
const toText = (rollups: readonly StatisticsBucket[]): string =>
  JSON.stringify(rollups.map((each) => [...keyOf(each), each.counts]));

const fields = [...keyColumns, "counts"].map((_column, index) => `given.value ->> ${index}`);

export const prepareReports = ({
  job,
  process,
  statisticsBucket,
  failureCause,
}: Tables): ReportOperations => {
  const putReporter = `INSERT INTO ${process} (${reporterRow.columns}) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET deployment = excluded.deployment, started_at = excluded.started_at,
      seen_at = excluded.seen_at, info = excluded.info`;
  const insertRollups = `INSERT INTO ${statisticsBucket} (${rollupRow.columns})
    SELECT ${fields.join(", ")} FROM json_each(?) AS given WHERE 1`;
  const putRollups = `${insertRollups}
    ON CONFLICT (${keyColumns.join(", ")}) DO UPDATE SET counts = excluded.counts`;
  const putCause = `INSERT INTO ${failureCause} (fingerprint, name, message, frame, deployment, first_seen_at, last_seen_at)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (fingerprint) DO UPDATE SET last_seen_at = excluded.last_seen_at`;
  const listProcesses = `SELECT ${reporterRow.columns} FROM ${process}
    WHERE seen_at >= ? ORDER BY seen_at DESC, id LIMIT ?`;
  const readBuckets = `SELECT ${rollupRow.columns} FROM ${statisticsBucket}
    WHERE bucket_ms = ? AND starts_at >= ? AND starts_at < ? AND ${isInOptionalList("queue")} AND ${isInOptionalList("type_name")}
    ORDER BY starts_at, queue, type_name, deployment, process_id LIMIT ?`;

  const stored = `FROM json_each(?) AS given CROSS JOIN ${statisticsBucket} AS r
    ON ${keyColumns.map((column, index) => `r.${column} = given.value ->> ${index}`).join(" AND ")}`;
  const countAsGiven = `SELECT count(*) ${stored} WHERE r.counts = given.value ->> ${keyColumns.length}`;
  const countStored = `SELECT count(*) ${stored}`;
  // One by one: for a list, SQLite would look at all rows of a stretch for each.
  const removeRollup = `DELETE FROM ${statisticsBucket} WHERE ${keyColumns.map((column) => `${column} = ?`).join(" AND ")}`;

  const forgetReporters = `DELETE FROM ${process} WHERE id IN
    (SELECT id FROM ${process} WHERE seen_at < ? ORDER BY seen_at LIMIT ?)`;
  const forgetCauses = `DELETE FROM ${failureCause} WHERE fingerprint IN
    (SELECT c.fingerprint FROM ${failureCause} AS c WHERE c.last_seen_at < ?
      AND NOT EXISTS (SELECT 1 FROM ${job} AS j WHERE j.fingerprint = c.fingerprint) LIMIT ?)`;
  const findOld = `SELECT ${rollupRow.columns} FROM ${statisticsBucket} WHERE bucket_ms = ? AND starts_at < ? ORDER BY starts_at LIMIT ?`;

  /** Whether all rows to remove are as they were read, and no other row is in the place of one to put. */
  const canFold = (
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
    writeReport: (db, { reporter: own, rollups, causes, maxAgeMs }, now) => {
      db.run(putReporter, [own.id, own.deployment, own.startedAt, now, own.about]);
      const recent = rollups.filter(({ from }) => from >= now - maxAgeMs);
      if (recent.length > 0) db.run(putRollups, [toText(recent)]);
      for (const { fingerprint, name, message, frame, deployment } of causes)
        db.run(putCause, [fingerprint, name, message, frame, deployment, now, now]);
      return now;
    },
    listProcesses: (db, { seenFrom, limit }) => reporterRow.all(db, listProcesses, [seenFrom, limit]),
    readBuckets: (db, { width, from, before, queues, typeNames, limit }) =>
      rollupRow.all(db, readBuckets, [
        width,
        from,
        before,
        ...optionalList(queues),
        ...optionalList(typeNames),
        limit,
      ]),
    rollUpBuckets: (db, { remove, put }) => {
      // Everything is checked before anything is written: there may be more in this transaction, which has to stay.
      if (!canFold(db, remove, put)) return false;
      for (const each of remove) db.run(removeRollup, keyOf(each));
      db.run(insertRollups, [toText(put)]);
      return true;
    },
    deleteOldReports: (db, { reportersBefore, causesBefore, rollups, limit }) => {
      let forgotten = db.run(forgetReporters, [reportersBefore, limit]);
      for (const { width, before } of rollups) {
        const old = rollupRow.all(db, findOld, [width, before, limit - forgotten]);
        for (const each of old) db.run(removeRollup, keyOf(each));
        forgotten += old.length;
      }
      return forgotten + db.run(forgetCauses, [causesBefore, limit - forgotten]);
    },
  };
};
