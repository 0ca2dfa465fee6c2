import { createHash } from "node:crypto";
import type { ClaimRequest } from "leasehold/adapter";
import { arrayLiteral } from "./sql/array-literal.ts";
import { text } from "./sql/row-values.ts";
import type { Call, Database } from "./database.ts";
import type { Tables } from "./tables.ts";

/** The jobs of one type in one queue: they stand in one line. */
export interface Lane {
  readonly number: string;
  readonly queue: string;
  readonly typeName: string;
  /** Which request it belongs to, counted from 1. */
  readonly request: number;
}

const numbers = new Map<string, string>();
const mostNumbers = 10_000;

/**
 * Queue and type as one 64-bit number, as text: the beginning of their SHA-256, so that no two of any number that people
 * use come out the same. Indexes that begin with it are smaller, and cheaper to search, than ones with two names.
 */
export const laneNumber = (queue: string, typeName: string): string => {
  const names = `${queue.length}:${queue}${typeName}`;
  let number = numbers.get(names);
  if (number === undefined) {
    number = createHash("sha256").update(names).digest().readBigInt64BE().toString();
    if (numbers.size >= mostNumbers) numbers.clear();
    numbers.set(names, number);
  }
  return number;
};

/** Finds the types that wait in queues by leaping from lane to lane in the indexes, however many jobs each has. */
const typesInQueuesSql = ({ job }: Tables): string => {
  const next = (condition: string, after: string): string => `
    (SELECT j.lane, j.queue, j.type_name FROM ${job} AS j WHERE ${condition} ${after} ORDER BY j.lane LIMIT 1)`;
  const leaps = (name: string, condition: string): string => `
${name} AS (
  ${next(condition, "")}
  UNION ALL
  SELECT found.* FROM ${name} CROSS JOIN LATERAL ${next(condition, `AND j.lane > ${name}.lane`)} AS found
)`;
  return `
WITH RECURSIVE ${leaps("ready_lane", "ready")}, ${leaps("deferred_lane", "status = 'pending' AND NOT ready")}
SELECT DISTINCT queue, type_name FROM (
  SELECT queue, type_name FROM ready_lane
  UNION ALL SELECT queue, type_name FROM deferred_lane
  UNION ALL SELECT queue, type_name FROM ${job} WHERE status = 'running'
) AS found WHERE queue = ANY ($1::text[])`;
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
      name: "types_in_queues",
      sql: typesInQueuesSql,
      params: [arrayLiteral(whole)],
    });
    for (const row of rows) {
      const queue = text(row["queue"]);
      found.set(queue, [...(found.get(queue) ?? []), text(row["type_name"])]);
    }
  }
  return requests.flatMap(({ queue, typeNames }, index) =>
    [...new Set(typeNames ?? found.get(queue) ?? [])].map((typeName) => ({
      number: laneNumber(queue, typeName),
      queue,
      typeName,
      request: index + 1,
    })),
  );
};
