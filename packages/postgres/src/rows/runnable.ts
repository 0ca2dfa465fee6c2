import type { ClaimRequest, MaxAttempts } from "leasehold/adapter";
import { createHash } from "node:crypto";
import type { Call, Database } from "../database/database.ts";
import { arrayLiteral, now, text } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

// Which jobs can be claimed. A job is runnable when it
//
//   - is pending, and its time has come, or
//   - is running, its lease has expired, and it has attempts left.
//
// That time, and the end of that lease, is `due_at`. The column `ready` marks the jobs that are in line: one index has
// those of each queue and type in the order in which they run. Jobs for later are not in line, and running jobs are not;
// they are put in line when somebody notices that their time has come (promotion.ts). So there are three places to look:
//
//   in line    ready                    index job_ready (lane, priority DESC, due_at, position)
//   deferred   pending and not ready    index job_deferred (lane, due_at); with a group, job_deferred_home (home, due_at)
//   leased     running                  index job_running (due_at)
//
// Every statement that asks for runnable jobs takes its conditions from this file. A queue with rules or groups is asked
// through functions of the database (migrations/flow-functions.ts), which repeat them: a function that was released does not
// change when this file does. There a limit, a pause, or the order of a group may keep a job from running. The conditions are about a job `j` unless another name is given.

/** The order in which the jobs of one queue and type run. */
export const runOrder = "priority DESC, due_at, position";

/** Whether one job runs before another when both are runnable. */
export const runsBeforeSql = (job: string, other: string): string =>
  `(${job}.priority > ${other}.priority
    OR (${job}.priority = ${other}.priority AND (${job}.due_at, ${job}.position) < (${other}.due_at, ${other}.position)))`;

export const isDue: string = `j.due_at <= ${now}`;

/** In line, of one queue and type. All of these are due, unless the clock has gone back since. */
export const inLineSql = (lane: string): string => `j.ready AND j.lane = ${lane}`;

export const runnableInLineSql = (lane: string): string => `${inLineSql(lane)} AND ${isDue}`;

export const isDeferred = "j.status = 'pending' AND NOT j.ready";

/** Of one queue and type, and runnable as soon as it is due. */
export const deferredSql = (lane: string): string => `${isDeferred} AND j.lane = ${lane}`;

/** The same for jobs with a group: of one queue and type, whatever their groups. */
export const deferredInGroupsSql = (home: string): string =>
  `${isDeferred} AND j.home IS NOT NULL AND j.home = ${home}`;

/** Of the queues and types in `$2`, and runnable as soon as the lease has expired. */
export const leasedSql = (attemptsLeft: string): string =>
  `j.status = 'running' AND ${attemptsLeft} AND j.lane = ANY ($2::bigint[])`;

export const isExpired: string = `j.status = 'running' AND ${isDue}`;

/** In an ordered group, and has begun: the others of the group wait for it although it is not due. */
export const waitsForRetrySql = (job: string): string =>
  `(${job}.ordered IS NOT NULL AND ${job}.status = 'pending' AND NOT ${job}.ready AND ${job}.lease_version > 0)`;

/**
 * Whether a job whose lease has expired may be claimed again. A handler may have its own number of attempts for its type,
 * which counts unless the start asked for one: `override` finds it, null where there is none.
 */
export const attemptsLeftSql = (job: string, override?: string): string =>
  override === undefined
    ? `${job}.attempt < ${job}.max_attempts`
    : `${job}.attempt < CASE WHEN ${job}.max_attempts_given = false
        THEN coalesce(${override}, ${job}.max_attempts) ELSE ${job}.max_attempts END`;

/** The numbers of attempts that handlers have, for a statement with a list of queues and types in `$2`. */
export interface AttemptOverrides {
  /** One list beside that of `$2`, if any of those types has a number. The statement is another one then. */
  readonly params: readonly string[];
  /** Tells the two statements apart. */
  readonly suffix: string;
  /** The condition, with the list as this parameter. */
  attemptsLeft(parameter: string): string;
}

export const readAttemptOverrides = (
  queueTypes: readonly { readonly typeName: string }[],
  maxAttempts: MaxAttempts = {},
): AttemptOverrides => {
  const overrides = queueTypes.map(({ typeName }) =>
    Object.hasOwn(maxAttempts, typeName) ? (maxAttempts[typeName] ?? null) : null,
  );
  if (overrides.every((override) => override === null))
    return { params: [], suffix: "", attemptsLeft: () => attemptsLeftSql("j") };
  return {
    params: [arrayLiteral(overrides)],
    suffix: "_overridden",
    attemptsLeft: (parameter) =>
      attemptsLeftSql("j", `(${parameter}::int[])[array_position($2::bigint[], j.lane)]`),
  };
};

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
export const isGroupKey = (number: string): boolean =>
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
export const looseIndexScanSql = (
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
WITH RECURSIVE ${looseIndexScanSql(tables, "in_line", condition("j.ready"))}, ${looseIndexScanSql(tables, "deferred", condition(isDeferred))}
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
