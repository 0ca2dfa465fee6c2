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

const mostNumbers = 10_000;

/** A function of names, with its latest results at hand. */
const remembered = (compute: (names: string) => string): ((names: string) => string) => {
  const known = new Map<string, string>();
  return (names) => {
    let number = known.get(names);
    if (number === undefined) {
      number = compute(names);
      if (known.size >= mostNumbers) known.clear();
      known.set(names, number);
    }
    return number;
  };
};

const hash = (names: string): Buffer => createHash("sha256").update(names).digest();

const typeNumber = remembered((names) => hash(names).readBigInt64BE().toString());

/**
 * Queue and type as one 64-bit number, as text: the beginning of their SHA-256, so that no two that are in use come out the
 * same. Indexes that begin with it are smaller, and cheaper to search, than ones with two names.
 */
export const queueTypeNumber = (queue: string, typeName: string): string =>
  typeNumber(`${queue.length}:${queue}${typeName}`);

/** The lines of groups have the highest numbers, so that a search for types can stop before them. */
const firstByteOfLines = 0x7f;
export const firstLine: string = (BigInt(firstByteOfLines) << 56n).toString();

/** Whether a number is among those of lines. As texts, because this is asked about every job that is started. */
export const isAmongLines = (number: string): boolean =>
  number.length === firstLine.length && number >= firstLine;

const lineNumber = remembered((names) => {
  const bytes = hash(names);
  bytes[0] = firstByteOfLines;
  return bytes.readBigInt64BE().toString();
});

/** The number of a group's line. Should two groups ever have the same, they share a line, and so its limits. */
export const groupLineNumber = (queue: string, typeName: string, group: string): string =>
  lineNumber(`${queue.length}:${queue}${typeName.length}:${typeName}${group}`);

/**
 * A recursive query of the queues and types that have jobs `j` with this condition. It leaps from one to the next in an
 * index that begins with `lane`, or `home`, however many jobs each of them has.
 */
export const leapSql = (
  { job }: Tables,
  name: string,
  condition: string,
  column: "lane" | "home" = "lane",
): string => {
  const next = (after: string): string =>
    `(SELECT j.${column}, j.queue, j.type_name FROM ${job} AS j WHERE ${condition} ${after} ORDER BY j.${column} LIMIT 1)`;
  return `${name} AS (
  ${next("")}
  UNION ALL
  SELECT found.* FROM ${name} CROSS JOIN LATERAL ${next(`AND j.${column} > ${name}.${column}`)} AS found
)`;
};

/** In a lane whose number is not among those of lines. */
export const isBeforeLines: string = `j.lane < ${firstLine}`;

// There may be very many lines, too many to leap over. Where there are groups, all types with groups are in the table of
// rules, and so are the types whose own number is among those of lines.
const typesInQueuesSql = (tables: Tables, hasGroups: boolean): string => {
  const condition = (place: string): string => (hasGroups ? `${place} AND ${isBeforeLines}` : place);
  return `
WITH RECURSIVE ${leapSql(tables, "in_line", condition("j.ready"))}, ${leapSql(tables, "deferred", condition(isDeferred))}
SELECT DISTINCT queue, type_name FROM (
  SELECT queue, type_name FROM in_line
  UNION ALL SELECT queue, type_name FROM deferred
  UNION ALL SELECT queue, type_name FROM ${tables.job} WHERE status = 'running'
  ${hasGroups ? `UNION ALL SELECT queue, type_name FROM ${tables.flowRule} WHERE type_name IS NOT NULL` : ""}
) AS found WHERE queue = ANY ($1::text[])`;
};

/** The queues and types of requests. A request for every type means those that have jobs at the moment. */
export const findQueueTypes = async (
  { query, flow: { hasGroups } }: Database,
  call: Call,
  requests: readonly Omit<ClaimRequest, "limit">[],
): Promise<QueueType[]> => {
  const whole = requests.filter(({ typeNames }) => typeNames === null).map(({ queue }) => queue);
  const found = new Map<string, string[]>();
  if (whole.length > 0) {
    const rows = await query(call.ctx, {
      name: `types_in_queues${hasGroups ? "_with_groups" : ""}`,
      sql: (tables) => typesInQueuesSql(tables, hasGroups),
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
