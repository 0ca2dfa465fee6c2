import {
  byBytes,
  describePause,
  emptyLimitRule,
  findThrottleOfRule,
  findReachedLimit,
  type LimitRule,
  type LimitUse,
  type GroupPage,
  groupsToRead,
  type GroupUse,
  type ThrottleReason,
  type LimitsInUse,
  limitsOfGroup,
  type ListGroupsCall,
  readUpTo,
  ruleAt,
  type RulesOver,
  selectGroups,
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
SELECT h.queue, h.queue_type, coalesce(u.bucket_full_at, 0) AS bucket_full_at,
  coalesce(u.running, 0) - coalesce((SELECT sum(CASE WHEN h.queue_type = 0 THEN n.queue_freed ELSE n.type_freed END)
    FROM ${limitDelta} AS n WHERE n.queue = h.queue AND (h.queue_type = 0 OR n.queue_type = h.queue_type)), 0) AS running,
  CASE WHEN EXISTS (SELECT FROM ${job} AS j WHERE j.ready AND j.claim_key = h.queue_type) THEN 1 ELSE 0 END + (
    SELECT count(*) FROM (
      SELECT FROM ${groupState} AS g WHERE g.queue_type = h.queue_type AND g.claimable AND g.claim_key <> g.queue_type LIMIT ${mostGroups}
    ) AS counted) AS claimable,
  (SELECT count(*) FROM (SELECT FROM ${groupState} AS g WHERE g.queue_type = h.queue_type AND g.throttled LIMIT ${mostGroups}) AS counted) AS throttled
FROM unnest($1::text[], $2::bigint[]) AS h (queue, queue_type)
LEFT JOIN ${limitUsage} AS u ON u.queue = h.queue AND u.queue_type = h.queue_type`;

/** The usage of a queue, by the numbers of its types; "0" is the queue as a whole. */
type QueueUse = ReadonlyMap<string, TypeUse>;

/** The usage of several queues, each with the numbers of its types. */
const readUse = async (
  { query, tables }: Database,
  call: Call,
  queues: ReadonlyMap<string, readonly string[]>,
): Promise<ReadonlyMap<string, QueueUse>> => {
  const wanted = [...queues].flatMap(([queue, queueTypes]) =>
    [...new Set(["0", ...queueTypes])].map((queueType) => ({ queue, queueType })),
  );
  const rows = await query(call.ctx, {
    sql: useSql(tables),
    params: [
      arrayLiteral(wanted.map(({ queue }) => queue)),
      arrayLiteral(wanted.map(({ queueType }) => queueType)),
    ],
  });
  const uses = new Map<string, Map<string, TypeUse>>([...queues.keys()].map((queue) => [queue, new Map()]));
  for (const row of rows)
    uses.get(text(row["queue"]))!.set(text(row["queue_type"]), {
      running: Number(row["running"]),
      bucketFullAt: Number(row["bucket_full_at"]),
      claimable: Number(row["claimable"]),
      throttled: Number(row["throttled"]),
    });
  return uses;
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

// The conditions under which `limit_settle` has something to do.
const unsettledSql = ({ job, groupState, limitDelta, limitEdit }: Tables): string => `
WITH ${clockCte("$1")}
SELECT q.queue FROM unnest($2::text[]) AS q (queue)
WHERE EXISTS (SELECT FROM ${limitDelta} AS n WHERE n.queue = q.queue)
  OR EXISTS (SELECT FROM ${limitEdit} AS e WHERE e.queue = q.queue)
  OR EXISTS (
    SELECT FROM ${groupState} AS g WHERE g.queue = q.queue AND g.claimable_at > 0 AND g.claimable_at <= (SELECT now FROM clock)
  )
  OR EXISTS (
    SELECT FROM unnest($3::text[], $4::bigint[]) AS t (queue, number) WHERE t.queue = q.queue AND (
      EXISTS (
        SELECT FROM ${job} AS j
        WHERE j.status = 'pending' AND NOT j.ready AND j.claim_key = t.number AND j.due_at <= (SELECT now FROM clock)
      ) OR EXISTS (
        SELECT FROM ${job} AS j
        WHERE j.status = 'pending' AND NOT j.ready AND j.queue_type IS NOT NULL AND j.queue_type = t.number
          AND j.due_at <= (SELECT now FROM clock)
      )
    )
  )`;

/** Settles the queues that need it, each in a transaction of its own: the lock of a queue holds up claims. */
const settleQueues = async (
  database: Database,
  call: Call,
  queues: readonly string[],
  types: readonly QueueType[],
): Promise<void> => {
  if (call.ctx !== undefined || queues.length === 0) return;
  const rows = await database.query(undefined, {
    sql: unsettledSql(database.tables),
    params: [
      call.now ?? null,
      arrayLiteral(queues),
      arrayLiteral(types.map(({ queue }) => queue)),
      arrayLiteral(types.map(({ number }) => number)),
    ],
  });
  for (const row of rows) {
    const queue = text(row["queue"]);
    await settleQueue(database, call, queue, typesIn(types, queue));
  }
};

const typesIn = (types: readonly QueueType[], queue: string): QueueType[] =>
  types.filter((type) => type.queue === queue);

const usesOf = (
  stored: StoredRules,
  queue: string,
  types: readonly QueueType[],
  use: QueueUse,
): LimitUse[] => {
  const rules = stored.rules.filter(({ rule }) => rule.queue === queue);
  // Other rows only register a type whose number is among the keys of groups.
  return rules
    .filter(({ rule, hasGroups }) => rule.version > 0 || hasGroups)
    .map(({ rule }) => {
      const { typeName } = rule;
      const queueType = queueTypeOf(queue, typeName);
      const { running = 0, bucketFullAt = 0 } = use.get(queueType) ?? {};
      return {
        rule: rule.version === 0 ? emptyLimitRule(queue, typeName) : ruleAt(rule, stored.now),
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
  const queues = [...new Set(stored.rules.map(({ rule }) => rule.queue))];
  if (queues.length === 0) return [];
  const types = await findQueueTypes(
    database,
    call,
    queues.map((queue) => ({ queue, typeNames: null })),
  );
  await settleQueues(database, call, queues, types);
  const numbers = new Map(
    queues.map((queue) => [
      queue,
      [
        ...typesIn(types, queue).map(({ number }) => number),
        ...stored.rules
          .filter(({ rule }) => rule.queue === queue)
          .map(({ rule }) => queueTypeOf(queue, rule.typeName)),
      ],
    ]),
  );
  const uses = await readUse(database, call, numbers);
  return queues.flatMap((queue) => usesOf(stored, queue, typesIn(types, queue), uses.get(queue)!));
};

/** Groups that are read of each kind. */
const mostListed = 1_000;

/** More waiting jobs of a group are not counted. */
const mostCounted = 1_000;

const listedSql = ({ groupState }: Tables): string => `
  (SELECT g.claim_key FROM ${groupState} AS g WHERE g.queue_type = $2::bigint AND g.throttled LIMIT ${mostListed})
  UNION (SELECT g.claim_key FROM ${groupState} AS g WHERE g.queue_type = $2::bigint AND g.claimable AND g.claim_key <> g.queue_type LIMIT ${mostListed})
  UNION SELECT claim_key FROM busy`;

const listedByNameSql = ({ groupState }: Tables): string => `
  SELECT claim_key FROM (
    (SELECT g.claim_key, g.group_key FROM ${groupState} AS g
      WHERE g.queue_type = $2::bigint AND (g.claimable OR g.throttled) AND g.group_key > $3::text ORDER BY g.group_key LIMIT $4)
    UNION SELECT claim_key, group_key FROM busy
  ) AS named ORDER BY group_key LIMIT $4`;

/**
 * Groups with jobs: up to $4 of each kind, with names after $3. `busy` leaves out jobs with expired leases, which a claim would
 * return to the queue.
 */
const groupsSql = ({ job, groupState }: Tables, listed: string): string => `
WITH ${clockCte("$1")},
busy AS MATERIALIZED (
  SELECT j.claim_key, j.group_key, count(*) AS running, count(*) FILTER (WHERE NOT (${isDue} AND ${attemptsLeftSql("j")})) AS busy
  FROM ${job} AS j WHERE j.status = 'running' AND j.queue_type = $2::bigint AND j.group_key > $3::text
  GROUP BY j.claim_key, j.group_key ORDER BY j.group_key LIMIT $4
),
listed AS MATERIALIZED (${listed})
SELECT coalesce(g.group_key, head.group_key, busy.group_key) AS group_key, coalesce(g.ordered, false) OR head.ordered IS NOT NULL AS ordered,
  g.stopped_by, g.paused_until, coalesce(g.bucket_full_at, 0) AS bucket_full_at, coalesce(busy.running, 0) AS running, coalesce(busy.busy, 0) AS busy,
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
  const pause = describePause(numberOrNull(row["paused_until"]), now);
  const findThrottle = (): ThrottleReason | null => {
    if (waiting === 0) return null;
    if (throttledByType !== null) return throttledByType;
    if (pause.paused) return "paused";
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
    ...pause,
  };
};

export const listGroups = async (database: Database, call: Call & ListGroupsCall): Promise<GroupPage> => {
  const { queue, typeName, order, limit } = call;
  const [type] = await findQueueTypes(database, call, [{ queue, typeNames: [typeName] }]);
  const queueType = type!.number;
  await settleQueue(database, call, queue, [type!]);
  const { over, now } = await readRules(database, call, queue);
  const use = (await readUse(database, call, new Map([[queue, [queueType]]]))).get(queue)!;
  const rules = over(queue, typeName);
  const throttledByType = findThrottleOfType(rules, use, queueType, now);
  const { tables } = database;
  const isByName = order === "name";
  const rows = await database.query(call.ctx, {
    sql: groupsSql(tables, isByName ? listedByNameSql(tables) : listedSql(tables)),
    params: [
      call.now ?? null,
      queueType,
      (isByName ? call.after : null) ?? "",
      isByName ? groupsToRead(limit) : mostListed,
    ],
  });
  const groups = rows.map((row) => toGroupUse(row, { over: rules, throttledByType, now }));
  const names = groups.map(({ group }) => group).sort(byBytes);
  return selectGroups(groups, call, isByName ? readUpTo(names, limit) : null);
};
