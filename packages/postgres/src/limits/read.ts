import {
  emptyLimitRule,
  findThrottleOfRule,
  findReachedLimit,
  type LimitRule,
  type LimitUse,
  type GroupUse,
  type ThrottleReason,
  type LimitsInUse,
  limitsOfGroup,
  type ListGroupsCall,
  type RulesOver,
  tokensLeft,
} from "leasehold/adapter";
import type { Call, Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { arrayLiteral, clockCte, nowSql, numberOrNull, text, textOrNull } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { attemptsLeftSql, findQueueTypes, isDue, type QueueType, runOrder } from "../rows/runnable.ts";
import { settleQueue } from "./claim.ts";
import { queueTypeOf, ruleSelect, toLimitRule } from "./rules.ts";

/** The stored rules. */
export interface StoredRules {
  readonly now: number;
  readonly rules: readonly StoredRule[];
  /** The rules that apply to jobs of a type. */
  over(queue: string, typeName: string): RulesOver;
}

export interface StoredRule {
  readonly rule: LimitRule;
  readonly hasGroups: boolean;
}

const readSql = ({ limitEpoch, limitRule }: Tables): string => `
SELECT ${nowSql("$1")} AS now, ${ruleSelect("r")} FROM ${limitEpoch} AS e
LEFT JOIN ${limitRule} AS r ON $2::text IS NULL OR r.queue = $2::text
ORDER BY r.queue, r.type_name NULLS FIRST`;

export const readRules = async (
  { query, tables }: Database,
  call: Call,
  queue: string | null,
): Promise<StoredRules> => {
  const rows = await query(call.ctx, { sql: readSql(tables), params: [call.now ?? null, queue] });
  const rules = rows
    .filter((row) => row["queue"] !== null)
    .map((row) => ({ rule: toLimitRule(row), hasGroups: row["has_groups"] === true }));
  const find = (name: string, typeName: string | null): LimitRule | undefined =>
    rules.find(({ rule }) => rule.queue === name && rule.typeName === typeName)?.rule;
  return {
    now: Number(rows[0]?.["now"]),
    rules,
    over: (name, typeName) => ({ queue: find(name, null), type: find(name, typeName) }),
  };
};

export interface TypeUse extends LimitsInUse {
  /** Groups whose own limits allow a claim, and groups whose own limits do not. */
  readonly claimable: number;
  readonly throttled: number;
}

/** More groups are not counted. */
const mostGroups = 10_000;

// Subtracts what deltas free that are not applied yet.
const useSql = ({ job, groupState, limitDelta, limitUsage }: Tables): string => `
SELECT h.queue_type, coalesce(u.bucket_full_at, 0) AS bucket_full_at,
  coalesce(u.running, 0) - coalesce((SELECT sum(CASE WHEN h.queue_type = 0 THEN n.queue_freed ELSE n.type_freed END)
    FROM ${limitDelta} AS n WHERE n.queue = $1::text AND (h.queue_type = 0 OR n.queue_type = h.queue_type)), 0) AS running,
  CASE WHEN EXISTS (SELECT FROM ${job} AS j WHERE j.ready AND j.claim_key = h.queue_type) THEN 1 ELSE 0 END + (
    SELECT count(*) FROM (
      SELECT FROM ${groupState} AS g WHERE g.queue_type = h.queue_type AND g.claimable AND g.claim_key <> g.queue_type LIMIT ${mostGroups}
    ) AS counted) AS claimable,
  (SELECT count(*) FROM (SELECT FROM ${groupState} AS g WHERE g.queue_type = h.queue_type AND g.throttled LIMIT ${mostGroups}) AS counted) AS throttled
FROM unnest($2::bigint[]) AS h (queue_type) LEFT JOIN ${limitUsage} AS u ON u.queue = $1::text AND u.queue_type = h.queue_type`;

/** The usage of a queue, by the numbers of its types; "0" is the queue as a whole. */
const readUse = async (
  { query, tables }: Database,
  call: Call,
  queue: string,
  queueTypes: readonly string[],
): Promise<Map<string, TypeUse>> => {
  const rows = await query(call.ctx, {
    sql: useSql(tables),
    params: [queue, arrayLiteral([...new Set(["0", ...queueTypes])])],
  });
  return new Map(
    rows.map((row) => [
      text(row["queue_type"]),
      {
        running: Number(row["running"]),
        bucketFullAt: Number(row["bucket_full_at"]),
        claimable: Number(row["claimable"]),
        throttled: Number(row["throttled"]),
      },
    ]),
  );
};

const nothing: LimitsInUse = { running: 0, bucketFullAt: 0 };

/** Why the rules of a queue and a type throttle all jobs of the type; null if they do not. */
const findThrottleOfType = (
  { queue, type }: RulesOver,
  use: ReadonlyMap<string, LimitsInUse>,
  queueType: string,
  now: number,
): ThrottleReason | null =>
  findThrottleOfRule(queue, use.get("0") ?? nothing, now) ??
  findThrottleOfRule(type, use.get(queueType) ?? nothing, now);

/** A group that its own limits leave claimable is throttled if a rule of its type or queue is. */
const countGroups = (
  types: readonly QueueType[],
  { over, now }: StoredRules,
  use: ReadonlyMap<string, TypeUse>,
): Pick<LimitUse, "claimableGroups" | "throttledGroups"> => {
  let [claimableGroups, throttledGroups] = [0, 0];
  for (const { queue, typeName, number } of types) {
    const { claimable, throttled } = use.get(number) ?? { claimable: 0, throttled: 0 };
    const isThrottled = findThrottleOfType(over(queue, typeName), use, number, now) !== null;
    claimableGroups += isThrottled ? 0 : claimable;
    throttledGroups += isThrottled ? claimable + throttled : throttled;
  }
  return {
    claimableGroups: Math.min(claimableGroups, mostGroups),
    throttledGroups: Math.min(throttledGroups, mostGroups),
  };
};

const listOne = async (
  database: Database,
  call: Call,
  stored: StoredRules,
  queue: string,
): Promise<LimitUse[]> => {
  const rules = stored.rules.filter(({ rule }) => rule.queue === queue);
  const types = await findQueueTypes(database, call, [{ queue, typeNames: null }]);
  await settleQueue(database, call, types);
  const queueTypes = [
    ...types.map(({ number }) => number),
    ...rules.map(({ rule }) => queueTypeOf(queue, rule.typeName)),
  ];
  const use = await readUse(database, call, queue, queueTypes);
  // Other rows only register a type whose number is among the keys of groups.
  return rules
    .filter(({ rule, hasGroups }) => rule.version > 0 || hasGroups)
    .map(({ rule }) => {
      const { typeName } = rule;
      const queueType = queueTypeOf(queue, typeName);
      const { running = 0, bucketFullAt = 0 } = use.get(queueType) ?? {};
      return {
        rule: rule.version === 0 ? emptyLimitRule(queue, typeName) : rule,
        running,
        tokens: rule.rate === null ? null : tokensLeft(rule.rate, bucketFullAt, stored.now),
        ...countGroups(
          typeName === null ? types : types.filter(({ number }) => number === queueType),
          stored,
          use,
        ),
      };
    });
};

export const listRules = async (
  database: Database,
  call: Call & { readonly queue: string | null },
): Promise<LimitUse[]> => {
  const stored = await readRules(database, call, call.queue);
  const uses: LimitUse[] = [];
  for (const queue of new Set(stored.rules.map(({ rule }) => rule.queue)))
    uses.push(...(await listOne(database, call, stored, queue)));
  return uses;
};

/** Groups that are read of each kind. */
const mostListed = 1_000;

/** More waiting jobs of a group are not counted. */
const mostCounted = 1_000;

/** Groups with jobs. `busy` leaves out jobs with expired leases, which a claim would return to the queue. */
const groupsSql = ({ job, groupState }: Tables): string => `
WITH ${clockCte("$1")},
busy AS MATERIALIZED (
  SELECT j.claim_key, count(*) AS running, count(*) FILTER (WHERE NOT (${isDue} AND ${attemptsLeftSql("j")})) AS busy
  FROM ${job} AS j WHERE j.status = 'running' AND j.queue_type = $2::bigint GROUP BY j.claim_key LIMIT ${mostListed}
),
listed AS MATERIALIZED (
  (SELECT g.claim_key FROM ${groupState} AS g WHERE g.queue_type = $2::bigint AND g.throttled LIMIT ${mostListed})
  UNION (SELECT g.claim_key FROM ${groupState} AS g WHERE g.queue_type = $2::bigint AND g.claimable AND g.claim_key <> g.queue_type LIMIT ${mostListed})
  UNION SELECT claim_key FROM busy
)
SELECT coalesce(g.group_key, head.group_key, (
    SELECT j.group_key FROM ${job} AS j WHERE j.status = 'running' AND j.claim_key = listed.claim_key LIMIT 1
  )) AS group_key, coalesce(g.ordered, false) OR head.ordered IS NOT NULL AS ordered,
  g.stopped_by, coalesce(g.bucket_full_at, 0) AS bucket_full_at, coalesce(busy.running, 0) AS running, coalesce(busy.busy, 0) AS busy,
  waiting.count AS waiting, waiting.since, head.lease_version, (
    SELECT j.due_at FROM ${job} AS j WHERE j.claim_key = listed.claim_key AND j.ordered IS NOT NULL AND j.status = 'pending'
      AND NOT j.ready AND j.lease_version > 0 ORDER BY j.due_at LIMIT 1
  ) AS retry_at
FROM listed LEFT JOIN ${groupState} AS g ON g.claim_key = listed.claim_key LEFT JOIN busy ON busy.claim_key = listed.claim_key
LEFT JOIN LATERAL (
  SELECT j.group_key, j.ordered, j.lease_version FROM ${job} AS j WHERE j.ready AND j.claim_key = listed.claim_key
  ORDER BY ${runOrder} LIMIT 1
) AS head ON true
CROSS JOIN LATERAL (
  SELECT count(*), min(first.due_at) AS since FROM (
    SELECT j.due_at FROM ${job} AS j WHERE j.ready AND j.claim_key = listed.claim_key LIMIT ${mostCounted}
  ) AS first
) AS waiting`;

const toGroupUse = (
  row: SqlRow,
  { over, throttledByType, now }: { over: RulesOver; throttledByType: ThrottleReason | null; now: number },
): GroupUse => {
  const group = text(row["group_key"]);
  const isOrdered = row["ordered"] === true;
  const busy = Number(row["busy"]);
  const stoppedBy = textOrNull(row["stopped_by"]);
  const waiting = Number(row["waiting"]);
  const findThrottle = (): ThrottleReason | null => {
    if (waiting === 0) return null;
    if (throttledByType !== null) return throttledByType;
    if (stoppedBy !== null) return "stopped";
    const waitsForRetry = row["retry_at"] !== null && Number(row["lease_version"]) === 0;
    if (isOrdered && (busy > 0 || waitsForRetry)) return "order";
    const limits = limitsOfGroup(over, { group, ordered: isOrdered ? "continue" : null });
    return findReachedLimit(limits, { running: busy, bucketFullAt: Number(row["bucket_full_at"]) }, now);
  };
  return {
    group,
    running: Number(row["running"]),
    waiting,
    waitingSince: numberOrNull(row["since"]),
    throttledBy: findThrottle(),
    stoppedBy,
  };
};

const since = ({ waitingSince }: GroupUse): number => waitingSince ?? Number.MAX_SAFE_INTEGER;

export const listGroups = async (database: Database, call: Call & ListGroupsCall): Promise<GroupUse[]> => {
  const { queue, typeName, throttled, order, limit } = call;
  const [type] = await findQueueTypes(database, call, [{ queue, typeNames: [typeName] }]);
  const queueType = type!.number;
  await settleQueue(database, call, [type!]);
  const { over, now } = await readRules(database, call, queue);
  const use = await readUse(database, call, queue, [queueType]);
  const rules = over(queue, typeName);
  const throttledByType = findThrottleOfType(rules, use, queueType, now);
  const rows = await database.query(call.ctx, {
    sql: groupsSql(database.tables),
    params: [call.now ?? null, queueType],
  });
  return rows
    .map((row) => toGroupUse(row, { over: rules, throttledByType, now }))
    .filter(({ throttledBy }) => throttled === undefined || throttled === (throttledBy !== null))
    .filter(({ waiting, running }) => waiting + running > 0)
    .sort(
      (a, b) =>
        (order === "waiting" ? since(a) - since(b) : b.running - a.running) || (a.group < b.group ? -1 : 1),
    )
    .slice(0, limit);
};
