import type { ClaimRequest, MaxAttempts } from "leasehold/adapter";
import { arrayLiteral } from "../sql/array-literal.ts";
import { clockCte, now } from "../sql/clock.ts";
import type { Call, Database } from "../database.ts";
import type { Tables } from "../tables.ts";
import { attemptsLeftSql, maxAttemptsOf } from "../runnable.ts";
import { lanesOf } from "../queue-types.ts";

// Each part asks for the first of an index, in its order, so that there is only one way to answer.
const nextSql = ({ job }: Tables, overridden: boolean): string => `
WITH ${clockCte("$1")}, lane AS MATERIALIZED (SELECT * FROM unnest($2::bigint[]) AS t (number))
SELECT min(next.due_at) - ${now} AS next_in FROM (
  SELECT (SELECT ${now} FROM ${job} AS j WHERE ready AND j.lane = lane.number AND due_at <= ${now}
    ORDER BY priority DESC, j.due_at, position LIMIT 1) AS due_at FROM lane
  UNION ALL
  SELECT (SELECT due_at FROM ${job} AS j WHERE status = 'pending' AND NOT ready AND j.lane = lane.number
    ORDER BY due_at LIMIT 1) FROM lane
  UNION ALL
  SELECT (SELECT due_at FROM ${job} WHERE status = 'running' AND ${attemptsLeftSql(overridden, "$3")} AND lane = ANY ($2::bigint[])
    ORDER BY due_at LIMIT 1)
) AS next`;

export const nextRunnableIn = async (
  database: Database,
  call: Call & {
    readonly requests: readonly Omit<ClaimRequest, "limit">[];
    readonly maxAttempts?: MaxAttempts | undefined;
  },
): Promise<number | null> => {
  const lanes = await lanesOf(database, call, call.requests);
  if (lanes.length === 0) return null;
  const maxAttempts = maxAttemptsOf(lanes, call.maxAttempts);
  const overridden = maxAttempts.length > 0;
  const [row] = await database.query(call.ctx, {
    name: overridden ? "next_runnable_overridden" : "next_runnable",
    sql: (tables) => nextSql(tables, overridden),
    params: [call.now ?? null, arrayLiteral(lanes.map(({ number }) => number)), ...maxAttempts],
  });
  const next = row?.["next_in"];
  return next === null || next === undefined ? null : Math.max(0, Number(next));
};
