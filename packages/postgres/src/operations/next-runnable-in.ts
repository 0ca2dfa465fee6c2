import type { NextRunnableCall } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { findQueueTypes } from "../queue-types.ts";
import {
  deferredSql,
  inLineSql,
  leasedSql,
  readAttemptOverrides,
  runnableInLineSql,
  runOrder,
} from "../runnable.ts";
import { arrayLiteral } from "../sql/array-literal.ts";
import { clockCte, now } from "../sql/clock.ts";
import { numberOrNull } from "../sql/row-values.ts";
import type { Tables } from "../tables.ts";

// Each part asks for the first row of an index, in the order of that index: the planner then has nothing to choose. Only if
// nothing in line is runnable, all that is in line is looked at: nothing, unless the clock has gone back.
const nextSql = ({ job }: Tables, attemptsLeft: string): string => `
WITH ${clockCte("$1")}, queue_type AS MATERIALIZED (SELECT * FROM unnest($2::bigint[]) AS t (number))
SELECT min(next.due_at) - ${now} AS next_in FROM (
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

export const nextRunnableIn = async (
  database: Database,
  call: Call & NextRunnableCall,
): Promise<number | null> => {
  const queueTypes = await findQueueTypes(database, call, call.requests);
  if (queueTypes.length === 0) return null;
  const { params, suffix, attemptsLeft } = readAttemptOverrides(queueTypes, call.maxAttempts);
  const [row] = await database.query(call.ctx, {
    name: `next_runnable${suffix}`,
    sql: (tables) => nextSql(tables, attemptsLeft("$3")),
    params: [call.now ?? null, arrayLiteral(queueTypes.map(({ number }) => number)), ...params],
  });
  const next = numberOrNull(row?.["next_in"]);
  return next === null ? null : Math.max(0, next);
};
