import { createHash } from "node:crypto";
import type { ClaimRequest } from "leasehold/adapter";
import type { Call, Database } from "./database.ts";
import { isDeferred } from "./runnable.ts";
import { arrayLiteral } from "./sql/array-literal.ts";
import { text } from "./sql/row-values.ts";
import type { Tables } from "./tables.ts";

/** A queue and a type: the jobs of both wait in one line. */
export interface QueueType {
  /** What the column `lane` of these jobs has. */
  readonly number: string;
  readonly queue: string;
  readonly typeName: string;
  /** Which request it belongs to, counted from 1. */
  readonly request: number;
}

const numbers = new Map<string, string>();
const mostNumbers = 10_000;

/**
 * Queue and type as one 64-bit number, as text: the beginning of their SHA-256, so that no two that are in use come out the
 * same. Indexes that begin with it are smaller, and cheaper to search, than ones with two names.
 */
export const queueTypeNumber = (queue: string, typeName: string): string => {
  const names = `${queue.length}:${queue}${typeName}`;
  let number = numbers.get(names);
  if (number === undefined) {
    number = createHash("sha256").update(names).digest().readBigInt64BE().toString();
    if (numbers.size >= mostNumbers) numbers.clear();
    numbers.set(names, number);
  }
  return number;
};

/**
 * A recursive query of the queues and types that have jobs `j` with this condition. It leaps from one to the next in an
 * index that begins with `lane`, however many jobs each of them has.
 */
export const leapSql = ({ job }: Tables, name: string, condition: string): string => {
  const next = (after: string): string =>
    `(SELECT j.lane, j.queue, j.type_name FROM ${job} AS j WHERE ${condition} ${after} ORDER BY j.lane LIMIT 1)`;
  return `${name} AS (
  ${next("")}
  UNION ALL
  SELECT found.* FROM ${name} CROSS JOIN LATERAL ${next(`AND j.lane > ${name}.lane`)} AS found
)`;
};

const typesInQueuesSql = (tables: Tables): string => `
WITH RECURSIVE ${leapSql(tables, "in_line", "j.ready")}, ${leapSql(tables, "deferred", isDeferred)}
SELECT DISTINCT queue, type_name FROM (
  SELECT queue, type_name FROM in_line
  UNION ALL SELECT queue, type_name FROM deferred
  UNION ALL SELECT queue, type_name FROM ${tables.job} WHERE status = 'running'
) AS found WHERE queue = ANY ($1::text[])`;

/** The queues and types of requests. A request for every type means those that have jobs at the moment. */
export const findQueueTypes = async (
  { query }: Database,
  call: Call,
  requests: readonly Omit<ClaimRequest, "limit">[],
): Promise<QueueType[]> => {
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
      number: queueTypeNumber(queue, typeName),
      queue,
      typeName,
      request: index + 1,
    })),
  );
};
