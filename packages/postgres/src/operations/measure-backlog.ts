import type { TypeBacklog } from "leasehold/adapter";
import { clockCte, now } from "../sql/clock.ts";
import type { Call, Database } from "../database.ts";
import type { SqlRow } from "../provider.ts";
import type { Tables } from "../tables.ts";
import { byIndexOnly } from "../sql/index-only.ts";
import { text } from "../sql/row-values.ts";

// Of running and failed jobs, which no index has by lane.
const mostCaps = 10;
// A lane with more priorities than this is not searched for its oldest job any further.
const mostStretches = 1_000;

/** Leaps from lane to lane of an index that begins with it. */
const leaps = ({ job }: Tables, name: string, condition: string): string => {
  const next = (after: string): string =>
    `(SELECT j.lane, j.queue, j.type_name FROM ${job} AS j WHERE ${condition} ${after} ORDER BY j.lane LIMIT 1)`;
  return `${name} AS (
    ${next("")}
    UNION ALL
    SELECT found.* FROM ${name} CROSS JOIN LATERAL ${next(`AND j.lane > ${name}.lane`)} AS found
  )`;
};

/** Likewise from priority to priority, each of which is a stretch of the index in the order of time. */
const stretches = ({ job }: Tables): string => {
  const first = (rank: number, after: string, order: string): string =>
    `(SELECT ${rank} AS rank, j.lane, j.queue, j.type_name, j.priority, j.due_at FROM ${job} AS j
      WHERE ready ${after} ORDER BY ${order} LIMIT 1)`;
  const wholeOrder = "j.lane, j.priority DESC, j.due_at, j.position";
  return `stretch AS (
    ${first(0, "", wholeOrder)}
    UNION ALL
    SELECT found.* FROM stretch CROSS JOIN LATERAL (
      SELECT * FROM (
        ${first(0, "AND j.lane = stretch.lane AND j.priority < stretch.priority", "j.priority DESC, j.due_at, j.position")}
        UNION ALL ${first(1, "AND j.lane > stretch.lane", wholeOrder)}
      ) AS either ORDER BY rank LIMIT 1
    ) AS found
  )`;
};

const backlogSql = (tables: Tables): string => {
  const { job } = tables;
  const capped = (condition: string): string =>
    `(SELECT count(*) FROM (SELECT FROM ${job} AS j WHERE ${condition} LIMIT $2::int) AS counted)`;
  const some = (condition: string, order: string): string =>
    `(SELECT queue, type_name, due_at FROM ${job} WHERE ${condition} ${order} LIMIT $2::int * ${mostCaps}) AS looked_at`;
  const deferred = "j.status = 'pending' AND NOT j.ready";
  return `
WITH RECURSIVE ${clockCte("$1")}, ${stretches(tables)},
${leaps(tables, "deferred_lane", "status = 'pending' AND NOT ready")},
${leaps(tables, "blocked_lane", "status = 'blocked'")},
ready_lane AS (
  SELECT lane, queue, type_name, min(due_at) AS oldest FROM (SELECT * FROM stretch LIMIT ${mostStretches}) AS s
  GROUP BY lane, queue, type_name
)
SELECT 'runnable' AS kind, queue, type_name, pending.count, CASE WHEN pending.count > 0 THEN oldest END AS oldest
FROM ready_lane CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE status = 'pending') AS count
  FROM (SELECT j.status FROM ${job} AS j WHERE j.ready AND j.lane = ready_lane.lane LIMIT $2::int) AS first
) AS pending
UNION ALL
SELECT 'runnable', queue, type_name, ${capped(`${deferred} AND j.lane = d.lane AND j.due_at <= ${now}`)},
  (SELECT j.due_at FROM ${job} AS j WHERE ${deferred} AND j.lane = d.lane AND j.due_at <= ${now} ORDER BY j.due_at LIMIT 1)
FROM deferred_lane AS d
UNION ALL
SELECT 'later', queue, type_name, ${capped(`${deferred} AND j.lane = d.lane AND j.due_at > ${now}`)}, NULL
FROM deferred_lane AS d
UNION ALL
SELECT 'blocked', queue, type_name, ${capped("j.status = 'blocked' AND j.lane = b.lane")}, NULL
FROM blocked_lane AS b
UNION ALL
SELECT 'running', queue, type_name, count(*), NULL FROM ${some("status = 'running'", "")} GROUP BY queue, type_name
UNION ALL
SELECT 'expired', queue, type_name, count(*), NULL
FROM ${some(`status = 'running' AND due_at <= ${now}`, "ORDER BY due_at")} GROUP BY queue, type_name
UNION ALL
SELECT 'failed', queue, type_name, count(*), NULL
FROM ${some("status = 'failed'", "ORDER BY created_at DESC, id DESC")} GROUP BY queue, type_name`;
};

type Kind = "runnable" | "later" | "running" | "expired" | "blocked" | "failed";
type Counting = { -readonly [Key in keyof TypeBacklog]: TypeBacklog[Key] };

const mergeRows = (rows: readonly SqlRow[], cap: number): TypeBacklog[] => {
  const lanes = new Map<string, Counting>();
  for (const row of rows) {
    const [kind, queue, typeName] = [row["kind"] as Kind, text(row["queue"]), text(row["type_name"])];
    const count = Number(row["count"]);
    if (count === 0) continue;
    const key = JSON.stringify([queue, typeName]);
    const none = { runnable: 0, later: 0, running: 0, expired: 0, blocked: 0, failed: 0 };
    const lane = lanes.get(key) ?? { queue, typeName, ...none, oldestRunnableAt: null };
    lanes.set(key, lane);
    lane[kind] = Math.min(cap, lane[kind] + count);
    if (row["oldest"] !== null)
      lane.oldestRunnableAt = Math.min(lane.oldestRunnableAt ?? Infinity, Number(row["oldest"]));
  }
  return [...lanes.values()];
};

export const measureBacklog = (
  database: Database,
  call: Call & { readonly cap: number },
): Promise<TypeBacklog[]> =>
  byIndexOnly(database, call.ctx, async (ctx) => {
    const rows = await database.query(ctx, {
      sql: backlogSql(database.tables),
      params: [call.now ?? null, call.cap],
    });
    return mergeRows(rows, call.cap);
  });
