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
import { queueTypeOf, ruleSelect, toFlowRule } from "./rules.ts";

/** The rules as they are stored now, and the tokens that their buckets have given. */
export interface StoredRules {
  readonly now: number;
  readonly rules: readonly StoredRule[];
  /** Over the jobs of a type. */
  over(queue: string, typeName: string): RulesOver;
}

export interface StoredRule {
  readonly rule: LimitRule;
  readonly hasGroups: boolean;
}

const readSql = ({ flow, flowRule }: Tables): string => `
SELECT ${nowSql("$1")} AS now, ${ruleSelect("r")} FROM ${flow} AS f
LEFT JOIN ${flowRule} AS r ON $2::text IS NULL OR r.queue = $2::text
ORDER BY r.queue, r.type_name NULLS FIRST`;

export const readRules = async (
  { query, tables }: Database,
  call: Call,
  queue: string | null,
): Promise<StoredRules> => {
  const rows = await query(call.ctx, { sql: readSql(tables), params: [call.now ?? null, queue] });
  const rules = rows
    .filter((row) => row["queue"] !== null)
    .map((row) => ({ rule: toFlowRule(row), hasGroups: row["has_groups"] === true }));
  const find = (name: string, typeName: string | null): LimitRule | undefined =>
    rules.find(({ rule }) => rule.queue === name && rule.typeName === typeName)?.rule;
  return {
    now: Number(rows[0]?.["now"]),
    rules,
    over: (name, typeName) => ({ queue: find(name, null), type: find(name, typeName) }),
  };
};

export interface TypeUse extends LimitsInUse {
  /** Lines of which something could be claimed as far as they are concerned themselves, and lines that hold everything back. */
  readonly open: number;
  readonly held: number;
}

const mostLines = 10_000;

// `freed` is what notes say that has not been counted yet.
const useSql = ({ job, line, lineNote, flowUse }: Tables): string => `
SELECT h.home, coalesce(u.tat, 0) AS tat,
  coalesce(u.running, 0) - coalesce((SELECT sum(CASE WHEN h.home = 0 THEN n.queue_freed ELSE n.type_freed END)
    FROM ${lineNote} AS n WHERE n.queue = $1::text AND (h.home = 0 OR n.home = h.home)), 0) AS running,
  CASE WHEN EXISTS (SELECT FROM ${job} AS j WHERE j.ready AND j.lane = h.home) THEN 1 ELSE 0 END + (
    SELECT count(*) FROM (
      SELECT FROM ${line} AS l WHERE l.home = h.home AND l.open AND l.number <> l.home LIMIT ${mostLines}
    ) AS counted) AS open,
  (SELECT count(*) FROM (SELECT FROM ${line} AS l WHERE l.home = h.home AND l.held LIMIT ${mostLines}) AS counted) AS held
FROM unnest($2::bigint[]) AS h (home) LEFT JOIN ${flowUse} AS u ON u.queue = $1::text AND u.home = h.home`;

/** How much of its rules a queue uses, by the lanes of types; "0" for the queue as a whole. */
const readUse = async (
  { query, tables }: Database,
  call: Call,
  queue: string,
  homes: readonly string[],
): Promise<Map<string, TypeUse>> => {
  const rows = await query(call.ctx, {
    sql: useSql(tables),
    params: [queue, arrayLiteral([...new Set(["0", ...homes])])],
  });
  return new Map(
    rows.map((row) => [
      text(row["home"]),
      {
        running: Number(row["running"]),
        bucketFullAt: Number(row["tat"]),
        open: Number(row["open"]),
        held: Number(row["held"]),
      },
    ]),
  );
};

const nothing: LimitsInUse = { running: 0, bucketFullAt: 0 };

/** What the rules of a queue and a type hold all jobs of the type back by. */
const findHoldOfType = (
  { queue, type }: RulesOver,
  use: ReadonlyMap<string, LimitsInUse>,
  home: string,
  now: number,
): ThrottleReason | null =>
  findThrottleOfRule(queue, use.get("0") ?? nothing, now) ?? findThrottleOfRule(type, use.get(home) ?? nothing, now);

const mostLinesListFlow = 10_000;

/** Lines that are open by themselves are held all the same if a rule of their type or queue holds everything back. */
const countLines = (
  types: readonly QueueType[],
  { over, now }: StoredRules,
  use: ReadonlyMap<string, TypeUse>,
): Pick<LimitUse, "claimableGroups" | "throttledGroups"> => {
  let [claimableGroups, throttledGroups] = [0, 0];
  for (const { queue, typeName, number } of types) {
    const { open, held } = use.get(number) ?? { open: 0, held: 0 };
    const isHeld = findHoldOfType(over(queue, typeName), use, number, now) !== null;
    claimableGroups += isHeld ? 0 : open;
    throttledGroups += isHeld ? open + held : held;
  }
  return {
    claimableGroups: Math.min(claimableGroups, mostLinesListFlow),
    throttledGroups: Math.min(throttledGroups, mostLinesListFlow),
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
  const homes = [
    ...types.map(({ number }) => number),
    ...rules.map(({ rule }) => queueTypeOf(queue, rule.typeName)),
  ];
  const use = await readUse(database, call, queue, homes);
  // Others are types whose number has to be known, and nothing else.
  return rules
    .filter(({ rule, hasGroups }) => rule.version > 0 || hasGroups)
    .map(({ rule }) => {
      const { typeName } = rule;
      const home = queueTypeOf(queue, typeName);
      const { running = 0, bucketFullAt = 0 } = use.get(home) ?? {};
      return {
        rule: rule.version === 0 ? emptyLimitRule(queue, typeName) : rule,
        running,
        tokens: rule.rate === null ? null : tokensLeft(rule.rate, bucketFullAt, stored.now),
        ...countLines(typeName === null ? types : types.filter(({ number }) => number === home), stored, use),
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

const mostLinesListGroups = 1_000;

const mostCounted = 1_000;

/** Lines with something in them. A job whose lease has expired does not count as `busy`: a claim would put it back. */
const linesSql = ({ job, line }: Tables): string => `
WITH ${clockCte("$1")},
busy AS MATERIALIZED (
  SELECT j.lane, count(*) AS running, count(*) FILTER (WHERE NOT (${isDue} AND ${attemptsLeftSql("j")})) AS busy
  FROM ${job} AS j WHERE j.status = 'running' AND j.home = $2::bigint GROUP BY j.lane LIMIT ${mostLinesListGroups}
),
looked AS MATERIALIZED (
  (SELECT l.number FROM ${line} AS l WHERE l.home = $2::bigint AND l.held LIMIT ${mostLinesListGroups})
  UNION (SELECT l.number FROM ${line} AS l WHERE l.home = $2::bigint AND l.open AND l.number <> l.home LIMIT ${mostLinesListGroups})
  UNION SELECT lane FROM busy
)
SELECT coalesce(l.group_key, head.group_key, (
    SELECT j.group_key FROM ${job} AS j WHERE j.status = 'running' AND j.lane = looked.number LIMIT 1
  )) AS group_key, coalesce(l.ordered, false) OR head.ordered IS NOT NULL AS ordered,
  l.stopped_by, coalesce(l.tat, 0) AS tat, coalesce(busy.running, 0) AS running, coalesce(busy.busy, 0) AS busy,
  waiting.count AS waiting, waiting.since, head.lease_version, (
    SELECT j.due_at FROM ${job} AS j WHERE j.lane = looked.number AND j.ordered IS NOT NULL AND j.status = 'pending'
      AND NOT j.ready AND j.lease_version > 0 ORDER BY j.due_at LIMIT 1
  ) AS retry_at
FROM looked LEFT JOIN ${line} AS l ON l.number = looked.number LEFT JOIN busy ON busy.lane = looked.number
LEFT JOIN LATERAL (
  SELECT j.group_key, j.ordered, j.lease_version FROM ${job} AS j WHERE j.ready AND j.lane = looked.number
  ORDER BY ${runOrder} LIMIT 1
) AS head ON true
CROSS JOIN LATERAL (
  SELECT count(*), min(first.due_at) AS since FROM (
    SELECT j.due_at FROM ${job} AS j WHERE j.ready AND j.lane = looked.number LIMIT ${mostCounted}
  ) AS first
) AS waiting`;

const toGroupUse = (
  row: SqlRow,
  { over, heldByType, now }: { over: RulesOver; heldByType: ThrottleReason | null; now: number },
): GroupUse => {
  const group = text(row["group_key"]);
  const isOrdered = row["ordered"] === true;
  const busy = Number(row["busy"]);
  const stoppedBy = textOrNull(row["stopped_by"]);
  const waiting = Number(row["waiting"]);
  const findHold = (): ThrottleReason | null => {
    if (waiting === 0) return null;
    if (heldByType !== null) return heldByType;
    if (stoppedBy !== null) return "stopped";
    const waitsForRetry = row["retry_at"] !== null && Number(row["lease_version"]) === 0;
    if (isOrdered && (busy > 0 || waitsForRetry)) return "order";
    const limits = limitsOfGroup(over, { group, ordered: isOrdered ? "continue" : null });
    return findReachedLimit(limits, { running: busy, bucketFullAt: Number(row["tat"]) }, now);
  };
  return {
    group,
    running: Number(row["running"]),
    waiting,
    waitingSince: numberOrNull(row["since"]),
    throttledBy: findHold(),
    stoppedBy,
  };
};

const since = ({ waitingSince }: GroupUse): number => waitingSince ?? Number.MAX_SAFE_INTEGER;

export const listGroups = async (database: Database, call: Call & ListGroupsCall): Promise<GroupUse[]> => {
  const { queue, typeName, throttled, order, limit } = call;
  const [type] = await findQueueTypes(database, call, [{ queue, typeNames: [typeName] }]);
  const home = type!.number;
  await settleQueue(database, call, [type!]);
  const { over, now } = await readRules(database, call, queue);
  const use = await readUse(database, call, queue, [home]);
  const rules = over(queue, typeName);
  const heldByType = findHoldOfType(rules, use, home, now);
  const rows = await database.query(call.ctx, {
    sql: linesSql(database.tables),
    params: [call.now ?? null, home],
  });
  return rows
    .map((row) => toGroupUse(row, { over: rules, heldByType, now }))
    .filter(({ throttledBy }) => throttled === undefined || throttled === (throttledBy !== null))
    .filter(({ waiting, running }) => waiting + running > 0)
    .sort(
      (a, b) =>
        (order === "waiting" ? since(a) - since(b) : b.running - a.running) || (a.group < b.group ? -1 : 1),
    )
    .slice(0, limit);
};
