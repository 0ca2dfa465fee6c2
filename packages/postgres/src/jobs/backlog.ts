import type {
  ListRecentlyFinishedCall,
  MeasureBacklogCall,
  RecentlyFinishedJob,
  TypeBacklog,
} from "leasehold/adapter";
import { byIndexOnly, type Call, type Database } from "../database/database.ts";
import { clockCte, numberOrNull, text } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { isOverdue, readDueJobs } from "../limits/due-jobs.ts";
import { readRules } from "../limits/read.ts";
import {
  deferredInGroupsSql,
  deferredSql,
  firstGroupKey,
  readySql,
  isBeforeGroupKeys,
  isDeferred,
  isDue,
  isExpired,
  looseIndexScanSql,
  queueTypeNumber,
} from "../rows/runnable.ts";

const columns = "queue, type_name, status, created_at, finished_at";

/**
 * An index has the roots of trees in the order in which they finished. Of other jobs, only the newest by id are read; ids of
 * Leasehold are in the order of creation.
 */
const recentSql = ({ job }: Tables): string => `
SELECT ${columns} FROM (
  (SELECT ${columns} FROM ${job} WHERE finished_at > 0 AND id = root_sequence_id AND finished_at >= $1::bigint
    ORDER BY finished_at DESC LIMIT $2::int)
  UNION ALL
  SELECT ${columns} FROM (
    SELECT ${columns}, id, root_sequence_id FROM ${job} ORDER BY id DESC LIMIT $2::int
  ) AS newest WHERE id <> root_sequence_id AND finished_at >= greatest($1::bigint, 1)
) AS found ORDER BY finished_at DESC LIMIT $2::int`;

export const listRecentlyFinished = (
  database: Database,
  call: Call & ListRecentlyFinishedCall,
): Promise<RecentlyFinishedJob[]> =>
  byIndexOnly(database, call.ctx, async (ctx) => {
    const rows = await database.query(ctx, {
      sql: recentSql(database.tables),
      params: [call.from, call.limit],
    });
    return rows.map((row) => ({
      queue: text(row["queue"]),
      typeName: text(row["type_name"]),
      status: row["status"] as RecentlyFinishedJob["status"],
      createdAt: Number(row["created_at"]),
      finishedAt: Number(row["finished_at"]),
    }));
  });

// No index has running and failed jobs by queue and type: this many times the cap is read of all of them.
const mostCaps = 10;
// The most priorities of all queues and types that are searched for the oldest job.
const mostRanges = 1_000;

/**
 * The first ready job of each queue, type and priority, by a loose index scan. The jobs of one priority are one range of the
 * index in the order of time, so that the oldest job is the first of one of the ranges.
 */
const rangesSql = ({ job }: Tables, where: string): string => {
  const first = (rank: number, after: string, order: string): string =>
    `(SELECT ${rank} AS rank, j.claim_key, j.queue, j.type_name, j.priority, j.due_at FROM ${job} AS j
      WHERE j.ready ${where} ${after} ORDER BY ${order} LIMIT 1)`;
  const wholeOrder = "j.claim_key, j.priority DESC, j.due_at, j.position";
  return `priority_range AS (
    ${first(0, "", wholeOrder)}
    UNION ALL
    SELECT found.* FROM priority_range CROSS JOIN LATERAL (
      SELECT * FROM (
        ${first(0, "AND j.claim_key = priority_range.claim_key AND j.priority < priority_range.priority", "j.priority DESC, j.due_at, j.position")}
        UNION ALL ${first(1, "AND j.claim_key > priority_range.claim_key", wholeOrder)}
      ) AS either ORDER BY rank LIMIT 1
    ) AS found
  )`;
};

/**
 * The jobs with a group that are not due. Deferred ones have an index by type; of blocked ones, as of running jobs, a limited
 * number is read. Types whose own number is among the keys of groups are counted here as well.
 */
const inGroupsSql = ({ limitRule }: Tables, { capped, some }: Parts): string => `
UNION ALL
SELECT 'later', queue, type_name, ${capped(`${deferredInGroupsSql("grouped.queue_type")} AND NOT ${isDue}`)}, NULL FROM grouped
UNION ALL
SELECT 'later', queue, type_name, ${capped(`${deferredSql("r.queue_type")} AND NOT ${isDue}`)}, NULL
FROM ${limitRule} AS r WHERE queue_type >= ${firstGroupKey}
UNION ALL
SELECT 'blocked', queue, type_name, count(*), NULL
FROM ${some(`j.status = 'blocked' AND NOT (${isBeforeGroupKeys})`, "")} GROUP BY queue, type_name`;

interface Parts {
  capped(condition: string): string;
  some(condition: string, order: string): string;
}

const backlogSql = (tables: Tables, hasGroups: boolean): string => {
  const { job } = tables;
  const where = hasGroups ? `AND ${isBeforeGroupKeys}` : "";
  const capped = (condition: string): string =>
    `(SELECT count(*) FROM (SELECT FROM ${job} AS j WHERE ${condition} LIMIT $2::int) AS counted)`;
  const some = (condition: string, order: string): string =>
    `(SELECT queue, type_name, due_at FROM ${job} AS j WHERE ${condition} ${order} LIMIT $2::int * ${mostCaps}) AS limited`;
  const first = (condition: string): string =>
    `(SELECT j.due_at FROM ${job} AS j WHERE ${condition} ORDER BY j.due_at LIMIT 1)`;
  return `
WITH RECURSIVE ${clockCte("$1")}, ${rangesSql(tables, where)},
${looseIndexScanSql(tables, "deferred", `${isDeferred} ${where}`)},
${looseIndexScanSql(tables, "blocked", `j.status = 'blocked' ${where}`)},
${hasGroups ? `${looseIndexScanSql(tables, "grouped", `${isDeferred} AND j.queue_type IS NOT NULL`, "queue_type")},` : ""}
by_type AS (
  SELECT claim_key, queue, type_name, min(due_at) AS oldest FROM (SELECT * FROM priority_range LIMIT ${mostRanges}) AS s
  GROUP BY claim_key, queue, type_name
)
SELECT 'due' AS kind, queue, type_name, pending.count, CASE WHEN pending.count > 0 THEN oldest END AS oldest
FROM by_type CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE status = 'pending') AS count
  FROM (SELECT j.status FROM ${job} AS j WHERE ${readySql("by_type.claim_key")} LIMIT $2::int) AS first
) AS pending
UNION ALL
SELECT 'due', queue, type_name, ${capped(`${deferredSql("deferred.claim_key")} AND ${isDue}`)},
  ${first(`${deferredSql("deferred.claim_key")} AND ${isDue}`)}
FROM deferred
UNION ALL
SELECT 'later', queue, type_name, ${capped(`${deferredSql("deferred.claim_key")} AND NOT ${isDue}`)}, NULL
FROM deferred
UNION ALL
SELECT 'blocked', queue, type_name, ${capped("j.status = 'blocked' AND j.claim_key = blocked.claim_key")}, NULL
FROM blocked
UNION ALL
SELECT 'running', queue, type_name, count(*), NULL FROM ${some("j.status = 'running'", "")} GROUP BY queue, type_name
UNION ALL
SELECT 'expired', queue, type_name, count(*), NULL
FROM ${some(isExpired, "ORDER BY j.due_at")} GROUP BY queue, type_name
UNION ALL
SELECT 'overdue', queue, type_name, count(*), NULL
FROM ${some(`j.status = 'pending' AND ${isOverdue} ${where}`, "ORDER BY j.scheduled_at + j.expire_after_ms")} GROUP BY queue, type_name
UNION ALL
SELECT 'failed', queue, type_name, count(*), NULL
FROM ${some("j.status = 'failed'", "ORDER BY j.created_at DESC, j.id DESC")} GROUP BY queue, type_name
${hasGroups ? inGroupsSql(tables, { capped, some }) : ""}`;
};

/** The oldest due job without a group that is not overdue, among the first of a type. Only for types with overdue jobs. */
const oldestInTimeSql = ({ job }: Tables): string => {
  const some = (condition: string): string =>
    `(SELECT j.due_at, ${isOverdue} AS overdue FROM ${job} AS j WHERE ${condition} AND j.status = 'pending' AND ${isDue} LIMIT $3::int)`;
  return `
WITH ${clockCte("$1")}
SELECT min(due_at) AS oldest
FROM (${some(readySql("$2::bigint"))} UNION ALL ${some(deferredSql("$2::bigint"))}) AS first WHERE NOT overdue`;
};

const nothing = {
  runnable: 0,
  throttled: 0,
  overdue: 0,
  later: 0,
  running: 0,
  expired: 0,
  blocked: 0,
  failed: 0,
  oldestRunnableAt: null,
};

type Counting = { -readonly [Key in keyof TypeBacklog]: TypeBacklog[Key] };

/** Before it is decided which of the due jobs are runnable. */
interface Due {
  count: number;
  oldest: number | null;
}

const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

export const measureBacklog = (database: Database, call: Call & MeasureBacklogCall): Promise<TypeBacklog[]> =>
  byIndexOnly(database, call.ctx, async (ctx) => {
    const { cap } = call;
    const inside = { ...call, ctx };
    const stored = await readRules(database, inside, null);
    const hasGroups = stored.rules.some((rule) => rule.hasGroups);
    const dueJobs = await readDueJobs(database, inside, stored, cap * mostCaps);

    const backlogs = new Map<string, { readonly counts: Counting; readonly due: Due }>();
    const backlogOf = (queue: string, typeName: string): { readonly counts: Counting; readonly due: Due } => {
      const key = JSON.stringify([queue, typeName]);
      const found = backlogs.get(key) ?? {
        counts: { queue, typeName, ...nothing },
        due: { count: 0, oldest: null },
      };
      backlogs.set(key, found);
      return found;
    };
    const add = (
      counts: Counting,
      kind: Exclude<keyof typeof nothing, "oldestRunnableAt">,
      count: number,
    ): void => {
      counts[kind] = Math.min(cap, counts[kind] + count);
    };

    const rows = await database.query(ctx, {
      sql: backlogSql(database.tables, hasGroups),
      params: [stored.now, cap],
    });
    for (const row of rows) {
      const count = Number(row["count"]);
      if (count === 0) continue;
      const { counts, due } = backlogOf(text(row["queue"]), text(row["type_name"]));
      if (row["kind"] !== "due") add(counts, row["kind"] as Parameters<typeof add>[1], count);
      else {
        due.count = Math.min(cap, due.count + count);
        due.oldest = earlier(due.oldest, numberOrNull(row["oldest"]));
      }
    }
    for (const { counts, due } of backlogs.values()) {
      const { queue, typeName, overdue } = counts;
      const inTime = Math.max(0, due.count - overdue);
      if (dueJobs.isThrottled(queue, typeName)) add(counts, "throttled", inTime);
      else if (inTime > 0) {
        add(counts, "runnable", inTime);
        counts.oldestRunnableAt =
          overdue === 0 ? due.oldest : await findOldestInTime(database, inside, counts, stored.now);
      }
    }
    for (const { queue, typeName, oldest, ...found } of await dueJobs.inGroups(cap)) {
      const { counts } = backlogOf(queue, typeName);
      for (const kind of ["runnable", "throttled", "overdue"] as const) add(counts, kind, found[kind]);
      counts.oldestRunnableAt = earlier(counts.oldestRunnableAt, oldest);
    }
    return [...backlogs.values()].map(({ counts }) => counts);
  });

const findOldestInTime = async (
  { query, tables }: Database,
  { ctx, cap }: Call & MeasureBacklogCall,
  { queue, typeName }: Pick<TypeBacklog, "queue" | "typeName">,
  now: number,
): Promise<number | null> => {
  const [row] = await query(ctx, {
    sql: oldestInTimeSql(tables),
    params: [now, queueTypeNumber(queue, typeName), cap * mostCaps],
  });
  return numberOrNull(row?.["oldest"]);
};
