import type { CountAheadCall, NextRunnableCall } from "leasehold/adapter";
import type { Call, Database } from "../database/database.ts";
import { arrayLiteral, clockCte, now, numberOrNull } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { ruledParams } from "../limits/claim.ts";
import {
  attemptsLeftSql,
  deferredSql,
  findQueueTypes,
  inLineSql,
  leasedSql,
  type QueueType,
  readAttemptOverrides,
  runnableInLineSql,
  runOrder,
  runsBeforeSql,
  waitsForRetrySql,
} from "../rows/runnable.ts";

/** When the job falls due, or now. */
const moment = `greatest(${now}, j.due_at)`;

/**
 * The three places where runnable jobs are, each with an index of its own. The planner reads the whole table for one condition
 * about all of them, finished jobs too, so each is counted for itself.
 */
const places: readonly string[] = [
  `other.ready AND other.status = 'pending' AND other.due_at <= ${moment}`,
  `other.status = 'pending' AND NOT other.ready AND (other.due_at <= ${moment} OR ${waitsForRetrySql("other")})`,
  `other.status = 'running' AND other.due_at <= ${now} AND ${attemptsLeftSql("other")}`,
];

/**
 * Counts the jobs that would go first at the moment this one falls due, as far as that can be foreseen: of its line, if it
 * has a group, and otherwise those of its queue without one.
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
            AND CASE WHEN j.home IS NULL THEN other.home IS NULL ELSE other.lane = j.lane END
            AND ${runsBeforeSql("other", "j")}
          LIMIT $3::int
        ) AS counted
      )`;
  const [row] = await query(call.ctx, {
    sql: `WITH ${clockCte("$1")}
      SELECT least(${places.map(countIn).join(" + ")}, $3::int) AS ahead
      FROM ${tables.job} AS j WHERE j.id = $2::${tables.idType} AND j.status = 'pending'`,
    params: [call.now ?? null, call.jobId, call.cap],
  });
  return row === undefined ? null : Number(row["ahead"]);
};

// Each part asks for the first row of an index, in the order of that index: the planner then has nothing to choose. Only if
// nothing in line is runnable, all that is in line is looked at: nothing, unless the clock has gone back.
const nextSql = ({ job, flow }: Tables, attemptsLeft: string): string => `
WITH ${clockCte("$1")}, queue_type AS MATERIALIZED (SELECT * FROM unnest($2::bigint[]) AS t (number))
SELECT min(next.due_at) - ${now} AS next_in, (SELECT epoch FROM ${flow}) AS epoch FROM (
  SELECT coalesce(
    (SELECT ${now} FROM ${job} AS j WHERE ${runnableInLineSql("queue_type.number")} ORDER BY ${runOrder} LIMIT 1),
    (SELECT min(j.due_at) FROM ${job} AS j WHERE ${inLineSql("queue_type.number")})
  ) AS due_at FROM queue_type
  UNION ALL
  SELECT (SELECT j.due_at FROM ${job} AS j WHERE ${deferredSql("queue_type.number")}
    ORDER BY j.due_at LIMIT 1) FROM queue_type
  UNION ALL
  SELECT (SELECT j.due_at FROM ${job} AS j WHERE ${leasedSql(attemptsLeft)}
    ORDER BY j.due_at LIMIT 1)
) AS next`;

const nextRuledSql = ({ schema }: Tables): string =>
  `SELECT ${schema}.flow_next($1::bigint, $2::text, $3::bigint[], $4::int[]) AS next_in`;

type NextCall = Call & NextRunnableCall;

const nextOfRuled = async (
  { query }: Database,
  call: NextCall,
  queueTypes: readonly QueueType[],
): Promise<number | null> => {
  const [row] = await query(call.ctx, {
    name: "next_ruled",
    sql: nextRuledSql,
    params: [call.now ?? null, ...ruledParams(queueTypes, call.maxAttempts)],
  });
  return numberOrNull(row?.["next_in"]);
};

/** Of queues without rules and groups; undefined if the rules have changed since this process read them. */
const nextOfPlain = async (
  database: Database,
  call: NextCall,
  queueTypes: readonly QueueType[],
): Promise<number | null | undefined> => {
  const { params, suffix, attemptsLeft } = readAttemptOverrides(queueTypes, call.maxAttempts);
  const { epoch } = database.flow;
  const [row] = await database.query(call.ctx, {
    name: `next_runnable${suffix}`,
    sql: (tables) => nextSql(tables, attemptsLeft("$3")),
    params: [call.now ?? null, arrayLiteral(queueTypes.map(({ number }) => number)), ...params],
  });
  return Number(row?.["epoch"]) === epoch ? numberOrNull(row?.["next_in"]) : undefined;
};

const nextOnce = async (database: Database, call: NextCall): Promise<number | null | undefined> => {
  const queueTypes = await findQueueTypes(database, call, call.requests);
  const isRuled = (queue: string): boolean => database.flow.queue(queue)?.isRuled === true;
  const found: (number | null)[] = [];
  const plain = queueTypes.filter(({ queue }) => !isRuled(queue));
  if (plain.length > 0) {
    const next = await nextOfPlain(database, call, plain);
    if (next === undefined) return undefined;
    found.push(next);
  }
  for (const queue of new Set(queueTypes.map((queueType) => queueType.queue))) {
    const types = queueTypes.filter((queueType) => queueType.queue === queue);
    if (isRuled(queue)) found.push(await nextOfRuled(database, call, types));
  }
  const times = found.filter((next) => next !== null);
  return times.length === 0 ? null : Math.max(0, Math.min(...times));
};

export const nextRunnableIn = async (database: Database, call: NextCall): Promise<number | null> => {
  for (;;) {
    const next = await nextOnce(database, call);
    if (next !== undefined) return next;
    await database.flow.load(call.ctx);
  }
};
