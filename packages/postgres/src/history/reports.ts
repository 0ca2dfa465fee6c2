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

interface RollupColumn<TRow> {
  readonly name: string;
  readonly type: "bigint" | "text";
  readonly read: (rollup: TRow) => string | number;
}

const keyColumns: readonly RollupColumn<BucketKey>[] = [
  { name: "width", type: "bigint", read: ({ width }) => width },
  { name: "begins_at", type: "bigint", read: ({ from }) => from },
  { name: "queue", type: "text", read: ({ queue }) => queue },
  { name: "type_name", type: "text", read: ({ typeName }) => typeName },
  { name: "deployment", type: "text", read: ({ deployment }) => deployment },
  { name: "reporter_id", type: "text", read: ({ reporterId }) => reporterId },
];

const columns: readonly RollupColumn<StatisticsBucket>[] = [
  ...keyColumns,
  { name: "counts", type: "text", read: ({ counts }) => counts },
];

/** The columns of the key, in the order of the index, of a table if one is given. */
const rollupKey = (table?: string): string =>
  keyColumns.map(({ name }) => (table === undefined ? name : `${table}.${name}`)).join(", ");

const rollupColumns: string = columns.map(({ name }) => name).join(", ");

/** The key as one text. */
const rollupKeyOf = (rollup: BucketKey): string => JSON.stringify(keyColumns.map(({ read }) => read(rollup)));

/** Whether the rows of two tables have the same key. */
const sameRollupSql = (one: string, other: string): string =>
  keyColumns.map(({ name }) => `${one}.${name} = ${other}.${name}`).join(" AND ");

/** Rollups as a table in a statement, under this alias. Its parameters begin with `$first`. */
const rollupSource = (alias: string, first: number): string =>
  `${unnestParameters(columns.map(({ type }, index) => `$${first + index}::${type}[]`))} AS ${alias} (${rollupColumns})`;

const rollupParams = (rollups: readonly StatisticsBucket[]): string[] =>
  columns.map(({ read }) => arrayLiteral(rollups.map(read)));

const toRollup = (row: SqlRow): StatisticsBucket => ({
  width: Number(row["width"]),
  from: Number(row["begins_at"]),
  queue: text(row["queue"]),
  typeName: text(row["type_name"]),
  deployment: text(row["deployment"]),
  reporterId: text(row["reporter_id"]),
  counts: text(row["counts"]),
});

// Two processes may fold at once. The rows to remove are locked in the order of their keys, and compared as they are then.
// After that, rows to put that are not among these are inserted, in the same order. If another process was faster with one of
// them, those inserted are taken out again, and nothing has happened. Only then the locked rows are overwritten or deleted. So
// no two processes can wait for each other.

const lockSql = ({ rollup }: Tables): string => `
SELECT r.width FROM ${rollupSource("f", 1)} JOIN ${rollup} AS r ON ${sameRollupSql("r", "f")}
WHERE r.counts = f.counts ORDER BY ${rollupKey("r")} FOR UPDATE OF r`;

const addSql = ({ rollup }: Tables): string => `
INSERT INTO ${rollup} (${rollupColumns}) SELECT ${rollupColumns} FROM ${rollupSource("f", 1)} ORDER BY ${rollupKey("f")}
ON CONFLICT (${rollupKey()}) DO NOTHING RETURNING ${rollupColumns}`;

const deleteSql = ({ rollup }: Tables, first: number): string =>
  `DELETE FROM ${rollup} AS r USING ${rollupSource("f", first)} WHERE ${sameRollupSql("r", "f")}`;

const settleSql = (tables: Tables): string => `
WITH overwritten AS (
  UPDATE ${tables.rollup} AS r SET counts = f.counts FROM ${rollupSource("f", 1)} WHERE ${sameRollupSql("r", "f")}
)
${deleteSql(tables, 8)}`;

/** Whether all of them are as given. They stay locked. */
const lock = async (
  { query }: Database,
  ctx: Context,
  rollups: readonly StatisticsBucket[],
): Promise<boolean> => {
  if (rollups.length === 0) return true;
  const rows = await query(ctx, { name: "lock_rollups", sql: lockSql, params: rollupParams(rollups) });
  return rows.length === rollups.length;
};

/** Adds all of them or, if one of them exists, none. */
const add = async (
  { query }: Database,
  ctx: Context,
  rollups: readonly StatisticsBucket[],
): Promise<boolean> => {
  if (rollups.length === 0) return true;
  const rows = await query(ctx, { name: "add_rollups", sql: addSql, params: rollupParams(rollups) });
  if (rows.length === rollups.length) return true;
  const added = rows.map(toRollup);
  await query(ctx, {
    name: "undo_rollups",
    sql: (tables) => deleteSql(tables, 1),
    params: rollupParams(added),
  });
  return false;
};

const keysOf = (rollups: readonly BucketKey[]): Set<string> => new Set(rollups.map(rollupKeyOf));

export const rollUpBuckets = (
  database: Database,
  { ctx: given, remove, put }: Call & RollUpBucketsCall,
): Promise<boolean> =>
  database.atomically(given, async (ctx) => {
    const [removed, wanted] = [keysOf(remove), keysOf(put)];
    if (!(await lock(database, ctx, remove))) return false;
    const added = put.filter((rollup) => !removed.has(rollupKeyOf(rollup)));
    if (!(await add(database, ctx, added))) return false;
    const overwritten = put.filter((rollup) => removed.has(rollupKeyOf(rollup)));
    const gone = remove.filter((rollup) => !wanted.has(rollupKeyOf(rollup)));
    const params = [...rollupParams(overwritten), ...rollupParams(gone)];
    await database.query(ctx, { name: "settle_rollups", sql: settleSql, params });
    return true;
  });

// Rows that somebody else has locked are left for the next time.
const forgetSql = ({ reporter, rollup, cause, job }: Tables): string => `
WITH silent AS MATERIALIZED (
  SELECT ctid FROM ${reporter} WHERE seen_at < $1::bigint ORDER BY seen_at LIMIT $4::int FOR UPDATE SKIP LOCKED
),
old AS MATERIALIZED (
  SELECT found.ctid FROM unnest($2::bigint[], $3::bigint[]) AS f (width, before) CROSS JOIN LATERAL (
    SELECT r.ctid FROM ${rollup} AS r WHERE r.width = f.width AND r.begins_at < f.before
    ORDER BY ${rollupKey("r")} LIMIT $4::int FOR UPDATE SKIP LOCKED
  ) AS found LIMIT $4::int - (SELECT count(*) FROM silent)
),
unseen AS MATERIALIZED (
  SELECT c.ctid FROM ${cause} AS c WHERE coalesce(c.last_seen_at, c.first_seen_at) < $5::bigint
    AND NOT EXISTS (SELECT FROM ${job} AS j WHERE j.status = 'failed' AND j.fingerprint = c.fingerprint)
  LIMIT $4::int - (SELECT count(*) FROM silent) - (SELECT count(*) FROM old) FOR UPDATE SKIP LOCKED
),
left_reporters AS (DELETE FROM ${reporter} WHERE ctid = ANY (ARRAY(SELECT ctid FROM silent)) RETURNING 1),
left_rollups AS (DELETE FROM ${rollup} WHERE ctid = ANY (ARRAY(SELECT ctid FROM old)) RETURNING 1),
left_causes AS (DELETE FROM ${cause} WHERE ctid = ANY (ARRAY(SELECT ctid FROM unseen)) RETURNING 1)
SELECT (SELECT count(*) FROM left_reporters) + (SELECT count(*) FROM left_rollups)
  + (SELECT count(*) FROM left_causes) AS count`;

export const deleteOldReports = async (
  { query }: Database,
  call: Call & DeleteOldReportsCall,
): Promise<number> => {
  const [row] = await query(call.ctx, {
    name: "forget_reports",
    sql: forgetSql,
    params: [
      call.reportersBefore,
      arrayLiteral(call.rollups.map(({ width }) => width)),
      arrayLiteral(call.rollups.map(({ before }) => before)),
      call.limit,
      call.causesBefore,
    ],
  });
  return Number(row?.["count"]);
};

/** There are as many rows as processes. An index by time would have to be written at every report. */
export const listProcesses = async (
  { query, tables }: Database,
  call: Call & ListProcessesCall,
): Promise<StateProcess[]> => {
  const rows = await query(call.ctx, {
    sql: `SELECT * FROM ${tables.reporter} WHERE seen_at >= $1::bigint ORDER BY seen_at DESC, id LIMIT $2::int`,
    params: [call.seenFrom, call.limit],
  });
  return rows.map((row) => ({
    id: text(row["id"]),
    deployment: textOrNull(row["deployment"]),
    startedAt: Number(row["started_at"]),
    about: text(row["about"]),
    seenAt: Number(row["seen_at"]),
  }));
};

export const readBuckets = async (
  { query, tables }: Database,
  call: Call & ReadBucketsCall,
): Promise<StatisticsBucket[]> => {
  const { width, from, before, queues, typeNames, limit } = call;
  const rows = await query(call.ctx, {
    sql: `SELECT ${rollupColumns} FROM ${tables.rollup}
      WHERE width = $1::bigint AND begins_at >= $2::bigint AND begins_at < $3::bigint
        AND ($4::text[] IS NULL OR queue = ANY ($4::text[])) AND ($5::text[] IS NULL OR type_name = ANY ($5::text[]))
      ORDER BY ${rollupKey()} LIMIT $6::int`,
    params: [
      width,
      from,
      before,
      queues ? arrayLiteral(queues) : null,
      typeNames ? arrayLiteral(typeNames) : null,
      limit,
    ],
  });
  return rows.map(toRollup);
};

const causeColumns = ["fingerprint", "name", "message", "frame", "deployment"] as const;

const causes = causeColumns.join(", ");

const firstOfRollups = 7;

const firstOfCauses = 14;

// Two processes that meet a new error at the same time would both insert its cause, and the second would wait until the first
// commits. So only who gets the lock inserts it; for the other it is as if it were known.
const reportSql = ({ schema, reporter, rollup, cause }: Tables): string => `
WITH ${clockCte("$1")},
reported AS (
  INSERT INTO ${reporter} (id, deployment, started_at, about, seen_at)
  VALUES ($2::text, $3::text, $4::bigint, $5::text, ${now})
  ON CONFLICT (id) DO UPDATE SET deployment = excluded.deployment, started_at = excluded.started_at,
    about = excluded.about, seen_at = excluded.seen_at
),
counted AS (
  INSERT INTO ${rollup} (${rollupColumns}) SELECT ${rollupColumns} FROM ${rollupSource("n", firstOfRollups)}
  WHERE begins_at >= ${now} - $6::bigint
  ON CONFLICT (${rollupKey()}) DO UPDATE SET counts = excluded.counts
),
unknown AS MATERIALIZED (
  SELECT * FROM ${unnestParameters(causeColumns.map((_, index) => `$${firstOfCauses + index}::text[]`))} AS n (${causes})
  WHERE NOT EXISTS (SELECT FROM ${cause} AS known WHERE known.fingerprint = n.fingerprint)
),
learned AS (
  INSERT INTO ${cause} (${causes}, first_seen_at, last_seen_at) SELECT ${causes}, ${now}, ${now} FROM unknown
  WHERE pg_try_advisory_xact_lock(hashtextextended('leasehold cause in ${schema}: ' || fingerprint, 0))
  ON CONFLICT (fingerprint) DO NOTHING
),
known AS MATERIALIZED (
  SELECT fingerprint FROM ${cause} WHERE fingerprint = ANY ($${firstOfCauses}::text[]) FOR UPDATE SKIP LOCKED
),
seen_again AS (
  UPDATE ${cause} SET last_seen_at = ${now} WHERE fingerprint = ANY (ARRAY(SELECT fingerprint FROM known))
)
SELECT ${now} AS now`;

const causeParams = (list: readonly NewCause[]): string[] =>
  causeColumns.map((name) => arrayLiteral(list.map((cause) => cause[name])));

export const writeReport = async ({ query }: Database, call: Call & ReportCall): Promise<number> => {
  const { reporter, rollups, maxAgeMs } = call;
  const [row] = await query(call.ctx, {
    name: "report",
    sql: reportSql,
    params: [
      call.now ?? null,
      reporter.id,
      reporter.deployment,
      reporter.startedAt,
      reporter.about,
      maxAgeMs,
      ...rollupParams(rollups),
      ...causeParams(call.causes),
    ],
  });
  return Number(row?.["now"]);
};
