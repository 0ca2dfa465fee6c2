import type { ClaimRequest } from "leasehold/adapter";
import { arrayLiteral } from "../array-literal.ts";
import type { Call, Database } from "../database.ts";
import type { Tables } from "../tables.ts";

/** The jobs of one type in one queue: they stand in one line. */
export interface Lane {
  readonly queue: string;
  readonly typeName: string;
  /** Which request it belongs to, counted from 1. */
  readonly request: number;
}

/** Finds the types that wait in a queue by leaping from one to the next in the index, however many jobs each has. */
const typesInQueueSql = ({ job }: Tables): string => {
  const next = (condition: string, after: string): string => `(
    SELECT type_name FROM ${job} WHERE ${condition} AND queue = asked.queue ${after} ORDER BY type_name LIMIT 1)`;
  const leaps = (condition: string): string => `
    WITH RECURSIVE leap (type_name) AS (
      SELECT ${next(condition, "")}
      UNION ALL
      SELECT ${next(condition, "AND type_name > leap.type_name")} FROM leap WHERE leap.type_name IS NOT NULL
    ) SELECT type_name FROM leap WHERE type_name IS NOT NULL`;
  return `
SELECT DISTINCT asked.queue, found.type_name FROM unnest($1::text[]) AS asked (queue)
CROSS JOIN LATERAL (
  (${leaps("ready")})
  UNION ALL
  (${leaps("status = 'pending' AND NOT ready")})
  UNION ALL
  SELECT type_name FROM ${job} WHERE status = 'running' AND queue = asked.queue
) AS found`;
};

/** The lanes that requests speak of. A request for every type means those there are at the moment. */
export const lanesOf = async (
  { query }: Database,
  call: Call,
  requests: readonly Omit<ClaimRequest, "limit">[],
): Promise<Lane[]> => {
  const whole = requests.filter(({ typeNames }) => typeNames === null).map(({ queue }) => queue);
  const found = new Map<string, string[]>();
  if (whole.length > 0) {
    const rows = await query(call.ctx, {
      name: "types_in_queue",
      sql: typesInQueueSql,
      params: [arrayLiteral(whole)],
    });
    for (const row of rows) {
      const queue = row["queue"] as string;
      found.set(queue, [...(found.get(queue) ?? []), row["type_name"] as string]);
    }
  }
  return requests.flatMap(({ queue, typeNames }, index) =>
    [...new Set(typeNames ?? found.get(queue) ?? [])].map((typeName) => ({
      queue,
      typeName,
      request: index + 1,
    })),
  );
};
