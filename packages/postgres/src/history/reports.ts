import type {
  RollUpBucketsCall,
  DeleteOldReportsCall,
  ListProcessesCall,
  NewCause,
  ReadBucketsCall,
  ReportCall,
  StatisticsBucket,
  BucketKey,
  StateProcess,
} from "leasehold/adapter";
import type { Call, Context, Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { arrayLiteral, clockCte, now, text, textOrNull, unnestParameters } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

interface BucketColumn<TRow> {
  readonly name: string;
  readonly type: "bigint" | "text";
  readonly read: (bucket: TRow) => string | number;
}

const keyColumns: readonly BucketColumn<BucketKey>[] = [
  { name: "bucket_ms", type: "bigint", read: ({ bucketMs }) => bucketMs },
  { name: "starts_at", type: "bigint", read: ({ from }) => from },
  { name: "queue", type: "text", read: ({ queue }) => queue },
  { name: "type_name", type: "text", read: ({ typeName }) => typeName },
  { name: "deployment", type: "text", read: ({ deployment }) => deployment },
  { name: "process_id", type: "text", read: ({ processId }) => processId },
];

const columns: readonly BucketColumn<StatisticsBucket>[] = [
  ...keyColumns,
  { name: "counts", type: "text", read: ({ counts }) => counts },
];

/** The columns of the key in the order of the index, of a table if one is given. */
const keyColumnsSql = (table?: string): string =>
  keyColumns.map(({ name }) => (table === undefined ? name : `${table}.${name}`)).join(", ");

const bucketColumns: string = columns.map(({ name }) => name).join(", ");

/** The key as one text. */
const keyOf = (bucket: BucketKey): string => JSON.stringify(keyColumns.map(({ read }) => read(bucket)));

/** Whether the rows of two tables have the same key. */
const sameKeySql = (one: string, other: string): string =>
  keyColumns.map(({ name }) => `${one}.${name} = ${other}.${name}`).join(" AND ");

/** Buckets as a table in a statement, under this alias. Its parameters begin with `$first`. */
const bucketSource = (alias: string, first: number): string =>
  `${unnestParameters(columns.map(({ type }, index) => `$${first + index}::${type}[]`))} AS ${alias} (${bucketColumns})`;

const bucketParams = (buckets: readonly StatisticsBucket[]): string[] =>
  columns.map(({ read }) => arrayLiteral(buckets.map(read)));

const toBucket = (row: SqlRow): StatisticsBucket => ({
  bucketMs: Number(row["bucket_ms"]),
  from: Number(row["starts_at"]),
  queue: text(row["queue"]),
  typeName: text(row["type_name"]),
  deployment: text(row["deployment"]),
  processId: text(row["process_id"]),
  counts: text(row["counts"]),
});

// Two processes may roll up at once. The statements lock the rows to remove in the order of their keys and compare them. Then
// they insert the new rows, in the same order. If another process has inserted one of these, they delete what they inserted,
// and the roll-up has no effect. Only then they overwrite or delete the locked rows. So two processes never deadlock.

const lockSql = ({ statisticsBucket }: Tables): string => `
SELECT b.bucket_ms FROM ${bucketSource("f", 1)} JOIN ${statisticsBucket} AS b ON ${sameKeySql("b", "f")}
WHERE b.counts = f.counts ORDER BY ${keyColumnsSql("b")} FOR UPDATE OF b`;

const addSql = ({ statisticsBucket }: Tables): string => `
INSERT INTO ${statisticsBucket} (${bucketColumns}) SELECT ${bucketColumns} FROM ${bucketSource("f", 1)} ORDER BY ${keyColumnsSql("f")}
ON CONFLICT (${keyColumnsSql()}) DO NOTHING RETURNING ${bucketColumns}`;

const deleteSql = ({ statisticsBucket }: Tables, first: number): string =>
  `DELETE FROM ${statisticsBucket} AS b USING ${bucketSource("f", first)} WHERE ${sameKeySql("b", "f")}`;

const settleSql = (tables: Tables): string => `
WITH overwritten AS (
  UPDATE ${tables.statisticsBucket} AS b SET counts = f.counts FROM ${bucketSource("f", 1)} WHERE ${sameKeySql("b", "f")}
)
${deleteSql(tables, 8)}`;

/** Locks the rows. False if one of them has changed or is gone. */
const lock = async (
  { query }: Database,
  ctx: Context,
  buckets: readonly StatisticsBucket[],
): Promise<boolean> => {
  if (buckets.length === 0) return true;
  const rows = await query(ctx, { name: "lock_buckets", sql: lockSql, params: bucketParams(buckets) });
  return rows.length === buckets.length;
};

/** Inserts all rows or, if one of them exists, none. */
const add = async (
  { query }: Database,
  ctx: Context,
  buckets: readonly StatisticsBucket[],
): Promise<boolean> => {
  if (buckets.length === 0) return true;
  const rows = await query(ctx, { name: "add_buckets", sql: addSql, params: bucketParams(buckets) });
  if (rows.length === buckets.length) return true;
  const added = rows.map(toBucket);
  await query(ctx, {
    name: "undo_buckets",
    sql: (tables) => deleteSql(tables, 1),
    params: bucketParams(added),
  });
  return false;
};

const keysOf = (buckets: readonly BucketKey[]): Set<string> => new Set(buckets.map(keyOf));

export const rollUpBuckets = (
  database: Database,
  { ctx: given, remove, put }: Call & RollUpBucketsCall,
): Promise<boolean> =>
  database.atomically(given, async (ctx) => {
    const [removed, wanted] = [keysOf(remove), keysOf(put)];
    if (!(await lock(database, ctx, remove))) return false;
    const added = put.filter((bucket) => !removed.has(keyOf(bucket)));
    if (!(await add(database, ctx, added))) return false;
    const overwritten = put.filter((bucket) => removed.has(keyOf(bucket)));
    const gone = remove.filter((bucket) => !wanted.has(keyOf(bucket)));
    const params = [...bucketParams(overwritten), ...bucketParams(gone)];
    await database.query(ctx, { name: "settle_buckets", sql: settleSql, params });
    return true;
  });

// Locked rows are left for the next call.
const deleteOldSql = ({ process, statisticsBucket, failureCause, job }: Tables): string => `
WITH silent AS MATERIALIZED (
  SELECT ctid FROM ${process} WHERE seen_at < $1::bigint ORDER BY seen_at LIMIT $4::int FOR UPDATE SKIP LOCKED
),
old AS MATERIALIZED (
  SELECT found.ctid FROM unnest($2::bigint[], $3::bigint[]) AS f (bucket_ms, before) CROSS JOIN LATERAL (
    SELECT b.ctid FROM ${statisticsBucket} AS b WHERE b.bucket_ms = f.bucket_ms AND b.starts_at < f.before
    ORDER BY ${keyColumnsSql("b")} LIMIT $4::int FOR UPDATE SKIP LOCKED
  ) AS found LIMIT $4::int - (SELECT count(*) FROM silent)
),
unseen AS MATERIALIZED (
  SELECT c.ctid FROM ${failureCause} AS c WHERE c.last_seen_at < $5::bigint
    AND NOT EXISTS (SELECT FROM ${job} AS j WHERE j.status = 'failed' AND j.fingerprint = c.fingerprint)
  LIMIT $4::int - (SELECT count(*) FROM silent) - (SELECT count(*) FROM old) FOR UPDATE SKIP LOCKED
),
deleted_processes AS (DELETE FROM ${process} WHERE ctid = ANY (ARRAY(SELECT ctid FROM silent)) RETURNING 1),
deleted_buckets AS (DELETE FROM ${statisticsBucket} WHERE ctid = ANY (ARRAY(SELECT ctid FROM old)) RETURNING 1),
deleted_causes AS (DELETE FROM ${failureCause} WHERE ctid = ANY (ARRAY(SELECT ctid FROM unseen)) RETURNING 1)
SELECT (SELECT count(*) FROM deleted_processes) + (SELECT count(*) FROM deleted_buckets)
  + (SELECT count(*) FROM deleted_causes) AS count`;

export const deleteOldReports = async (
  { query }: Database,
  call: Call & DeleteOldReportsCall,
): Promise<number> => {
  const [row] = await query(call.ctx, {
    name: "delete_old_reports",
    sql: deleteOldSql,
    params: [
      call.processesBefore,
      arrayLiteral(call.buckets.map(({ bucketMs }) => bucketMs)),
      arrayLiteral(call.buckets.map(({ before }) => before)),
      call.limit,
      call.causesBefore,
    ],
  });
  return Number(row?.["count"]);
};

/** Without an index: there are few rows, and every report would have to write it. */
export const listProcesses = async (
  { query, tables }: Database,
  call: Call & ListProcessesCall,
): Promise<StateProcess[]> => {
  const rows = await query(call.ctx, {
    sql: `SELECT * FROM ${tables.process} WHERE seen_at >= $1::bigint ORDER BY seen_at DESC, id LIMIT $2::int`,
    params: [call.seenFrom, call.limit],
  });
  return rows.map((row) => ({
    id: text(row["id"]),
    deployment: textOrNull(row["deployment"]),
    startedAt: Number(row["started_at"]),
    info: text(row["info"]),
    seenAt: Number(row["seen_at"]),
  }));
};

export const readBuckets = async (
  { query, tables }: Database,
  call: Call & ReadBucketsCall,
): Promise<StatisticsBucket[]> => {
  const { bucketMs, from, before, queues, typeNames, limit } = call;
  const rows = await query(call.ctx, {
    sql: `SELECT ${bucketColumns} FROM ${tables.statisticsBucket}
      WHERE bucket_ms = $1::bigint AND starts_at >= $2::bigint AND starts_at < $3::bigint
        AND ($4::text[] IS NULL OR queue = ANY ($4::text[])) AND ($5::text[] IS NULL OR type_name = ANY ($5::text[]))
      ORDER BY ${keyColumnsSql()} LIMIT $6::int`,
    params: [
      bucketMs,
      from,
      before,
      queues ? arrayLiteral(queues) : null,
      typeNames ? arrayLiteral(typeNames) : null,
      limit,
    ],
  });
  return rows.map(toBucket);
};

const causeColumns = ["fingerprint", "name", "message", "frame", "deployment"] as const;

const causes = causeColumns.join(", ");

const firstBucketParam = 7;

const firstCauseParam = 14;

// If two processes report a new cause at once, the second insert would wait for the first to commit. So only the process that
// gets the advisory lock inserts it; the other one skips it.
const reportSql = ({ schema, process, statisticsBucket, failureCause }: Tables): string => `
WITH ${clockCte("$1")},
reported AS (
  INSERT INTO ${process} (id, deployment, started_at, info, seen_at)
  VALUES ($2::text, $3::text, $4::bigint, $5::text, ${now})
  ON CONFLICT (id) DO UPDATE SET deployment = excluded.deployment, started_at = excluded.started_at,
    info = excluded.info, seen_at = excluded.seen_at
),
counted AS (
  INSERT INTO ${statisticsBucket} (${bucketColumns}) SELECT ${bucketColumns} FROM ${bucketSource("n", firstBucketParam)}
  WHERE starts_at >= ${now} - $6::bigint
  ON CONFLICT (${keyColumnsSql()}) DO UPDATE SET counts = excluded.counts
),
unknown AS MATERIALIZED (
  SELECT * FROM ${unnestParameters(causeColumns.map((_, index) => `$${firstCauseParam + index}::text[]`))} AS n (${causes})
  WHERE NOT EXISTS (SELECT FROM ${failureCause} AS known WHERE known.fingerprint = n.fingerprint)
),
learned AS (
  INSERT INTO ${failureCause} (${causes}, first_seen_at, last_seen_at) SELECT ${causes}, ${now}, ${now} FROM unknown
  WHERE pg_try_advisory_xact_lock(hashtextextended('leasehold cause in ${schema}: ' || fingerprint, 0))
  ON CONFLICT (fingerprint) DO NOTHING
),
known AS MATERIALIZED (
  SELECT fingerprint FROM ${failureCause} WHERE fingerprint = ANY ($${firstCauseParam}::text[]) FOR UPDATE SKIP LOCKED
),
seen_again AS (
  UPDATE ${failureCause} SET last_seen_at = ${now} WHERE fingerprint = ANY (ARRAY(SELECT fingerprint FROM known))
)
SELECT ${now} AS now`;

const causeParams = (list: readonly NewCause[]): string[] =>
  causeColumns.map((name) => arrayLiteral(list.map((cause) => cause[name])));

export const writeReport = async ({ query }: Database, call: Call & ReportCall): Promise<number> => {
  const { reporter, buckets, maxAgeMs } = call;
  const [row] = await query(call.ctx, {
    name: "report",
    sql: reportSql,
    params: [
      call.now ?? null,
      reporter.id,
      reporter.deployment,
      reporter.startedAt,
      reporter.info,
      maxAgeMs,
      ...bucketParams(buckets),
      ...causeParams(call.causes),
    ],
  });
  return Number(row?.["now"]);
};
