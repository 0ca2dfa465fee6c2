import type { CountAheadCall, NextRunnableCall } from "leasehold/adapter";
import type { Call, Database } from "../database/database.ts";
import { arrayLiteral, clockCte, now, numberOrNull, unnestParameters } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { limitParams } from "../limits/claim.ts";
import {
  attemptsLeftSql,
  deferredSql,
  findQueueTypes,
  isLimited,
  readySql,
  leasedSql,
  type QueueType,
  readAttemptOverrides,
  runnableSql,
  runOrder,
  runsBeforeSql,
  waitsForRetrySql,
} from "../rows/runnable.ts";

/** When the job is due, or now. */
const dueTime = `greatest(${now}, j.due_at)`;

/**
 * The three places of runnable jobs, each with an index. For one condition about all three the planner reads the whole table,
 * including finished jobs, so each place has a count of its own.
 */
const places: readonly string[] = [
  `other.ready AND other.status = 'pending' AND other.due_at <= ${dueTime}`,
  `other.status = 'pending' AND NOT other.ready AND (other.due_at <= ${dueTime} OR ${waitsForRetrySql("other")})`,
  `other.status = 'running' AND other.due_at <= ${now} AND ${attemptsLeftSql("other")}`,
];

/**
 * Counts the known jobs that run before this one when it is due: of its group, or of its queue without groups if it has none.
 */
export const countAhead = async (
  { query, tables, isId }: Database,
  call: Call & CountAheadCall,
): Promise<number | null> => {
  if (!isId(call.jobId)) return null;
  const countIn = (place: string): string => `(
        SELECT count(*) FROM (
          SELECT FROM ${tables.job} AS other
          WHERE ${place} AND other.queue = j.queue
            AND CASE WHEN j.queue_type IS NULL THEN other.queue_type IS NULL ELSE other.claim_key = j.claim_key END
            AND ${runsBeforeSql("other", "j")}
            AND (j.queue_type IS NOT NULL OR $4::text[] IS NULL OR other.type_name = ANY ($4::text[]))
            AND other.type_name <> ALL ($5::text[])
          LIMIT $3::int
        ) AS counted
      )`;
  const [row] = await query(call.ctx, {
    sql: `WITH ${clockCte("$1")}
      SELECT least(${places.map(countIn).join(" + ")}, $3::int) AS ahead
      FROM ${tables.job} AS j WHERE j.id = $2::${tables.idType} AND j.status = 'pending'`,
    params: [
      call.now ?? null,
      call.jobId,
      call.cap,
      call.typeNames === undefined ? null : arrayLiteral(call.typeNames),
      arrayLiteral(call.exceptTypeNames ?? []),
    ],
  });
  return row === undefined ? null : Number(row["ahead"]);
};

// Each part reads the first row of an index in the order of that index, which leaves the planner one plan. Ready jobs that are
// not due exist only after the clock has gone back; then all of them are read.
const nextSql = ({ job, limitEpoch }: Tables, attemptsLeft: string): string => `
WITH ${clockCte("$1")}, queue_type AS MATERIALIZED (SELECT * FROM ${unnestParameters(["$2::bigint[]"])} AS t (number))
SELECT min(next.due_at) - ${now} AS next_in, (SELECT epoch FROM ${limitEpoch}) AS epoch FROM (
  SELECT coalesce(
    (SELECT ${now} FROM ${job} AS j WHERE ${runnableSql("queue_type.number")} ORDER BY ${runOrder} LIMIT 1),
    (SELECT min(j.due_at) FROM ${job} AS j WHERE ${readySql("queue_type.number")})
  ) AS due_at FROM queue_type
  UNION ALL
  SELECT (SELECT j.due_at FROM ${job} AS j WHERE ${deferredSql("queue_type.number")}
    ORDER BY j.due_at LIMIT 1) FROM queue_type
  UNION ALL
  SELECT (SELECT j.due_at FROM ${job} AS j WHERE ${leasedSql(attemptsLeft)}
    ORDER BY j.due_at LIMIT 1)
) AS next`;

const nextLimitedSql = ({ schema }: Tables): string =>
  `SELECT ${schema}.limit_next_runnable($1::bigint, $2::text, $3::bigint[], $4::int[]) AS next_in`;

type NextCall = Call & NextRunnableCall;

const nextOfLimited = async (
  { query }: Database,
  call: NextCall,
  queueTypes: readonly QueueType[],
): Promise<number | null> => {
  const [row] = await query(call.ctx, {
    name: "next_limited",
    sql: nextLimitedSql,
    params: [call.now ?? null, ...limitParams(queueTypes, call.maxAttempts)],
  });
  return numberOrNull(row?.["next_in"]);
};

/** Of queues without rules and groups; undefined if the rules have changed since this process loaded them. */
const nextOfPlain = async (
  database: Database,
  call: NextCall,
  queueTypes: readonly QueueType[],
): Promise<number | null | undefined> => {
  const { params, suffix, attemptsLeft } = readAttemptOverrides(queueTypes, call.maxAttempts);
  const { epoch } = database.limits;
  const [row] = await database.query(call.ctx, {
    name: `next_runnable${suffix}`,
    sql: (tables) => nextSql(tables, attemptsLeft("$3")),
    params: [call.now ?? null, arrayLiteral(queueTypes.map(({ number }) => number)), ...params],
  });
  return Number(row?.["epoch"]) === epoch ? numberOrNull(row?.["next_in"]) : undefined;
};

const nextOnce = async (database: Database, call: NextCall): Promise<number | null | undefined> => {
  const queueTypes = await findQueueTypes(database, call, call.requests);
  const plain: QueueType[] = [];
  const limited = new Map<string, QueueType[]>();
  for (const queueType of queueTypes) {
    if (isLimited(database, queueType))
      limited.set(queueType.queue, [...(limited.get(queueType.queue) ?? []), queueType]);
    else plain.push(queueType);
  }
  let soonest: number | null = null;
  if (plain.length > 0) {
    const next = await nextOfPlain(database, call, plain);
    if (next === undefined) return undefined;
    soonest = next;
  }
  for (const types of limited.values()) {
    const next = await nextOfLimited(database, call, types);
    if (next !== null) soonest = Math.min(next, soonest ?? next);
  }
  return soonest === null ? null : Math.max(0, soonest);
};

export const nextRunnableIn = async (database: Database, call: NextCall): Promise<number | null> => {
  for (let current = database; ;) {
    const next = await nextOnce(current, call);
    if (next !== undefined) return next;
    current = { ...database, limits: await database.limits.load(call.ctx) };
  }
};
