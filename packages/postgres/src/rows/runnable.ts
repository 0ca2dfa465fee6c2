import { type ClaimRequest, type MaxAttempts, mostFreeExpiries } from "leasehold/adapter";
import { createHash } from "node:crypto";
import type { Call, Database } from "../database/database.ts";
import { arrayLiteral, now, text } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

// Which jobs can be claimed. A job is runnable if it is
//
//   - pending and due, or
//   - running, its lease has expired, and it has attempts left.
//
// `due_at` is the scheduled time, or the end of the lease. The column `ready` marks jobs in the claim index, which has those
// of each queue and type in the order in which they run. Deferred and running jobs are not ready until a claim finds them due
// and promotes them (jobs/promote.ts). So runnable jobs are in three places:
//
//   ready      ready                    index job_ready (claim_key, priority DESC, due_at, position)
//   deferred   pending and not ready    index job_deferred (claim_key, due_at); with a group job_deferred_in_groups (queue_type, due_at)
//   leased     running                  index job_running (due_at)
//
// Every statement takes these conditions from this file, about a job `j` unless another name is given. For queues with rules
// or groups, the functions of migrations/functions/ repeat them: released functions do not change with this file.

/** The order in which the jobs of one queue and type run. */
export const runOrder = "priority DESC, due_at, position";

/** Whether one runnable job runs before another. */
export const runsBeforeSql = (job: string, other: string): string =>
  `(${job}.priority > ${other}.priority
    OR (${job}.priority = ${other}.priority AND (${job}.due_at, ${job}.position) < (${other}.due_at, ${other}.position)))`;

export const isDue: string = `j.due_at <= ${now}`;

/** Ready jobs with this claim key. All of them are due, unless the clock has gone back. */
export const readySql = (claimKey: string): string => `j.ready AND j.claim_key = ${claimKey}`;

export const runnableSql = (claimKey: string): string => `${readySql(claimKey)} AND ${isDue}`;

export const isDeferred = "j.status = 'pending' AND NOT j.ready";

/** Deferred jobs without a group, of one queue and type. */
export const deferredSql = (claimKey: string): string => `${isDeferred} AND j.claim_key = ${claimKey}`;

/** Deferred jobs with a group, of one queue and type. */
export const deferredInGroupsSql = (queueType: string): string =>
  `${isDeferred} AND j.queue_type IS NOT NULL AND j.queue_type = ${queueType}`;

/** Running jobs of the queues and types in `$2` that are runnable once their lease has expired. */
export const leasedSql = (attemptsLeft: string): string =>
  `j.status = 'running' AND ${attemptsLeft} AND j.claim_key = ANY ($2::bigint[])`;

export const isExpired: string = `j.status = 'running' AND ${isDue}`;

/** A job of an ordered group that waits for a retry. The other jobs of the group wait for it. */
export const waitsForRetrySql = (job: string): string =>
  `(${job}.ordered IS NOT NULL AND ${job}.status = 'pending' AND NOT ${job}.ready AND ${job}.lease_version > 0)`;

/** `override` is the number of attempts of the handler, or null. It applies unless the start gave a number. */
const attemptLimitSql = (job: string, override: string): string =>
  `CASE WHEN ${job}.max_attempts_explicit = false
        THEN coalesce(${override}, ${job}.max_attempts) ELSE ${job}.max_attempts END`;

/** Whether a job with an expired lease has attempts left. */
export const attemptsLeftSql = (job: string, override?: string): string =>
  override === undefined
    ? `${job}.attempt < ${job}.max_attempts`
    : `${job}.attempt < ${attemptLimitSql(job, override)}`;

/** As `mayRunAgain` of core. */
export const mayRunAgainSql = (job: string, override: string): string =>
  `${job}.attempt - ${attemptLimitSql(job, override)} < greatest(0, least(${job}.expired_leases, ${mostFreeExpiries + 1}))`;

/** The numbers of attempts of handlers, for a statement with a list of queues and types in `$2`. */
export interface AttemptOverrides {
  /** A list parallel to `$2` if any handler has a number; then the statement is another one. */
  readonly params: readonly string[];
  /** The suffix of the name of the statement. */
  readonly suffix: string;
  /** The condition, with the list as this parameter. */
  attemptsLeft(parameter: string): string;
}

/** The number of each type, null if its handler has none. */
export const listAttemptOverrides = (
  queueTypes: readonly { readonly typeName: string }[],
  maxAttempts: MaxAttempts = {},
): string =>
  arrayLiteral(
    queueTypes.map(({ typeName }) =>
      Object.hasOwn(maxAttempts, typeName) ? (maxAttempts[typeName] ?? null) : null,
    ),
  );

export const readAttemptOverrides = (
  queueTypes: readonly { readonly typeName: string }[],
  maxAttempts: MaxAttempts = {},
): AttemptOverrides => {
  if (!queueTypes.some(({ typeName }) => Object.hasOwn(maxAttempts, typeName)))
    return { params: [], suffix: "", attemptsLeft: () => attemptsLeftSql("j") };
  return {
    params: [listAttemptOverrides(queueTypes, maxAttempts)],
    suffix: "_overridden",
    attemptsLeft: (parameter) =>
      attemptsLeftSql("j", `(${parameter}::int[])[array_position($2::bigint[], j.claim_key)]`),
  };
};

/** A queue and a job type. Their jobs without a group form one range of the claim index. */
export interface QueueType {
  /** The value of `claim_key`, or of `queue_type` in jobs with a group. */
  readonly number: string;
  readonly queue: string;
  readonly typeName: string;
  /** The number of its request, from 1. */
  readonly request: number;
}

const mostNumbers = 10_000;

/** Caches the results of a function. */
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
 * Queue and type as one 64-bit number, as text: the first bytes of their SHA-256, so that collisions are improbable. An index
 * that begins with it is smaller and faster than one with two names.
 */
export const queueTypeNumber = (queue: string, typeName: string): string =>
  typeNumber(`${queue.length}:${queue}${typeName}`);

/** Groups have the highest numbers, so that a search for types can stop before them. */
const firstByteOfGroups = 0x7f;

export const firstGroupKey: string = (BigInt(firstByteOfGroups) << 56n).toString();

/** Whether a number is among the keys of groups. Compares texts, because this runs for every started job. */
export const isGroupKey = (number: string): boolean =>
  number.length === firstGroupKey.length && number >= firstGroupKey;

const groupNumber = remembered((names) => {
  const bytes = hash(names);
  bytes[0] = firstByteOfGroups;
  return bytes.readBigInt64BE().toString();
});

/** The claim key of a group. If two groups ever had the same, they would share their limits. */
export const groupKey = (queue: string, typeName: string, group: string): string =>
  groupNumber(`${queue.length}:${queue}${typeName.length}:${typeName}${group}`);

/**
 * A recursive query of the queues and types that have jobs `j` with this condition. It reads one entry of each from an index
 * that begins with the column, regardless of the number of jobs.
 */
export const looseIndexScanSql = (
  { job }: Tables,
  name: string,
  condition: string,
  column: "claim_key" | "queue_type" = "claim_key",
): string => {
  const next = (after: string): string =>
    `(SELECT j.${column}, j.queue, j.type_name FROM ${job} AS j WHERE ${condition} ${after} ORDER BY j.${column} LIMIT 1)`;
  return `${name} AS (
  ${next("")}
  UNION ALL
  SELECT found.* FROM ${name} CROSS JOIN LATERAL ${next(`AND j.${column} > ${name}.${column}`)} AS found
)`;
};

/** Not among the keys of groups. */
export const isBeforeGroupKeys: string = `j.claim_key < ${firstGroupKey}`;

// There may be too many groups for a loose index scan. Types with groups are in the table of rules, and so are types whose own
// number is among the keys of groups.
const typesInQueuesSql = (tables: Tables, hasGroups: boolean): string => {
  const condition = (place: string): string => (hasGroups ? `${place} AND ${isBeforeGroupKeys}` : place);
  return `
WITH RECURSIVE ${looseIndexScanSql(tables, "ready", condition("j.ready"))}, ${looseIndexScanSql(tables, "deferred", condition(isDeferred))}
SELECT DISTINCT queue, type_name FROM (
  SELECT queue, type_name FROM ready
  UNION ALL SELECT queue, type_name FROM deferred
  UNION ALL SELECT queue, type_name FROM ${tables.job} WHERE status = 'running'
  ${hasGroups ? `UNION ALL SELECT queue, type_name FROM ${tables.limitRule} WHERE type_name IS NOT NULL` : ""}
) AS found WHERE queue = ANY ($1::text[])`;
};

/** The queues and types of requests. A request without types means all types of the queue that have jobs now. */
export const findQueueTypes = async (
  { query, limits: { hasGroups } }: Database,
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
  const queueTypes: QueueType[] = [];
  for (const [index, { queue, typeNames }] of requests.entries())
    for (const typeName of new Set(typeNames ?? found.get(queue)))
      queueTypes.push({ number: queueTypeNumber(queue, typeName), queue, typeName, request: index + 1 });
  return queueTypes;
};

/** Whether the queue has rules or groups, as far as this process has read. */
export const isLimited = ({ limits }: Database, { queue }: QueueType): boolean =>
  limits.queue(queue)?.isLimited === true;
