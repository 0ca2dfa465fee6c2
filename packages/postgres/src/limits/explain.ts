import {
  describePause,
  findReachedLimit,
  type LimitValues,
  type CounterRepair,
  type LimitRule,
  type Throttle,
  type ThrottleReason,
  isPausedAt,
  limitsOfGroup,
  nextTokenAt,
} from "leasehold/adapter";
import type { Call, Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { clockCte, isNull, now as nowOf, numberOrNull, text, textList, textOrNull } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { attemptsLeftSql, isDue, runsBeforeSql } from "../rows/runnable.ts";
import { type GroupHold, holdAfter } from "./deltas.ts";
import { readRules } from "./read.ts";

// A concurrent transaction changes a counter, or inserts a delta, together with the job. One statement reads jobs, counters
// and deltas in one snapshot, so it needs no locks. A delta corrects what differs.
const checkSql = (
  { job, groupState, limitDelta, limitUsage, limitRule }: Tables,
  repair: boolean,
): string => `
WITH counter AS (
  SELECT g.queue, g.queue_type, g.claim_key, g.group_key, 1 AS bit, g.running AS count FROM ${groupState} AS g WHERE g.claim_key <> g.queue_type
  UNION ALL SELECT u.queue, u.queue_type, u.queue_type, NULL, CASE WHEN u.queue_type = 0 THEN 4 ELSE 2 END, u.running FROM ${limitUsage} AS u
  UNION ALL SELECT n.queue, n.queue_type, n.claim_key, n.group_key, 1, -n.group_freed FROM ${limitDelta} AS n WHERE n.claim_key <> n.queue_type
  UNION ALL SELECT n.queue, n.queue_type, n.queue_type, NULL, 2, -n.type_freed FROM ${limitDelta} AS n
  UNION ALL SELECT n.queue, 0, 0, NULL, 4, -n.queue_freed FROM ${limitDelta} AS n
),
counted_job AS (
  SELECT j.queue, coalesce(j.queue_type, j.claim_key) AS queue_type, j.claim_key, j.group_key, j.counted_in FROM ${job} AS j
  WHERE j.status = 'running' AND j.counted_in IS NOT NULL
),
running AS (
  SELECT queue, queue_type, claim_key, group_key, 1 AS bit FROM counted_job WHERE counted_in & 1 <> 0
  UNION ALL SELECT queue, queue_type, queue_type, NULL, 2 FROM counted_job WHERE counted_in & 2 <> 0
  UNION ALL SELECT queue, 0, 0, NULL, 4 FROM counted_job WHERE counted_in & 4 <> 0
),
compared AS (
  SELECT queue, queue_type, claim_key, bit, max(group_key) AS group_key, sum(was) AS was, sum(is_now) AS is_now FROM (
    SELECT queue, queue_type, claim_key, bit, group_key, count AS was, 0 AS is_now FROM counter
    UNION ALL SELECT queue, queue_type, claim_key, bit, group_key, 0, 1 FROM running
  ) AS both_sides GROUP BY queue, queue_type, claim_key, bit HAVING sum(was) <> sum(is_now)
)
${
  repair
    ? `, repaired AS (
  INSERT INTO ${limitDelta} (queue, queue_type, claim_key, group_key, group_freed, type_freed, queue_freed)
  SELECT queue, queue_type, claim_key, group_key, CASE WHEN bit = 1 THEN was - is_now ELSE 0 END,
    CASE WHEN bit = 2 THEN was - is_now ELSE 0 END, CASE WHEN bit = 4 THEN was - is_now ELSE 0 END
  FROM compared
)`
    : ""
}
SELECT c.queue, c.bit, r.type_name, c.group_key, c.was, c.is_now
FROM compared AS c LEFT JOIN ${limitRule} AS r ON r.queue = c.queue AND r.queue_type = c.queue_type
ORDER BY c.queue, c.bit DESC, c.claim_key`;

export const repairCounters = async (
  { query, tables }: Database,
  call: Call & { readonly repair: boolean },
): Promise<CounterRepair> => {
  const rows = await query(call.ctx, { sql: checkSql(tables, call.repair), params: [] });
  return {
    counters: rows.map((row) => ({
      queue: text(row["queue"]),
      typeName: Number(row["bit"]) === 4 ? null : textOrNull(row["type_name"]),
      group: textOrNull(row["group_key"]),
      was: Number(row["was"]),
      is: Number(row["is_now"]),
    })),
  };
};

// An explanation takes no locks, and reads no counters, which lag behind by the deltas: it counts the running jobs instead, also
// jobs that ran before there was a limit and that the next claim counts.

type ExplainCall = Call & { readonly jobId: string };

const mostIds = 5;

/** The lease has expired and attempts are left: a claim would return this job to the queue and free its slots. */
const isFree = `${isDue} AND ${attemptsLeftSql("j")}`;

const jobSql = ({ job, groupState, idType }: Tables): string => `
WITH ${clockCte("$1")}
SELECT j.queue, j.type_name, j.group_key, j.ordered, j.claim_key, coalesce(j.queue_type, j.claim_key) AS queue_type,
  coalesce(g.bucket_full_at, 0) AS bucket_full_at, g.stopped_by, g.paused_until, coalesce(g.ordered, false) AS group_ordered
FROM ${job} AS j LEFT JOIN ${groupState} AS g ON g.claim_key = j.claim_key AND j.queue_type IS NOT NULL
WHERE j.id = $2::${idType} AND j.status = 'pending' AND ${isDue}`;

const countedJobsSql = ({ job }: Tables, scope: string): string => `
WITH ${clockCte("$1")},
counted AS MATERIALIZED (
  SELECT j.id FROM ${job} AS j
  WHERE j.status = 'running' AND j.queue = $2::text AND ${scope} AND NOT (${isFree})
)
SELECT (SELECT count(*) FROM counted) AS count,
  (SELECT coalesce(array_to_json(array_agg(id))::text, '[]') FROM (SELECT id FROM counted LIMIT ${mostIds}) AS first) AS ids`;

/** The jobs of an ordered group that run before this one: the running job, begun jobs, and earlier ready jobs. */
const aheadSql = ({ job, idType }: Tables): string => `
WITH ${clockCte("$1")},
own AS MATERIALIZED (SELECT * FROM ${job} WHERE id = $2::${idType})
SELECT j.id, CASE WHEN j.status = 'pending' AND j.due_at > ${nowOf} THEN j.due_at END AS claimable_at FROM own CROSS JOIN LATERAL (
  SELECT j.*, 0 AS place FROM ${job} AS j
  WHERE j.status = 'running' AND j.claim_key = own.claim_key AND (NOT (${isFree}) OR own.lease_version = 0 OR j.due_at < own.due_at)
  UNION ALL
  SELECT * FROM (
    SELECT j.*, 1 AS place FROM ${job} AS j WHERE j.ready AND j.claim_key = own.claim_key AND j.status = 'pending' AND ${isDue}
      AND ${runsBeforeSql("j", "own")} ORDER BY j.priority DESC, j.due_at, j.position LIMIT ${mostIds}
  ) AS ready
  UNION ALL
  SELECT * FROM (
    SELECT j.*, 1 AS place FROM ${job} AS j WHERE j.status = 'pending' AND NOT j.ready AND j.claim_key = own.claim_key
      AND (${isDue} OR (j.ordered IS NOT NULL AND j.lease_version > 0)) AND ${runsBeforeSql("j", "own")}
    ORDER BY j.priority DESC, j.due_at, j.position LIMIT ${mostIds}
  ) AS deferred
) AS j ORDER BY j.place, j.priority DESC, j.due_at, j.position LIMIT ${mostIds}`;

/** The job whose failure stopped the group, and the end of its pause, including deltas that are not applied yet. */
const findHold = async ({ query, tables }: Database, call: Call, row: SqlRow): Promise<GroupHold> => {
  const deltas = await query(call.ctx, {
    sql: `SELECT stopped_by, resumed_by, paused_until FROM ${tables.limitDelta}
      WHERE queue = $1::text AND claim_key = $2::bigint
        AND (stopped_by IS NOT NULL OR resumed_by IS NOT NULL OR paused_until IS NOT NULL) ORDER BY number`,
    params: [text(row["queue"]), text(row["claim_key"])],
  });
  return holdAfter(row, deltas);
};

const readBucket = async (
  { query, tables }: Database,
  call: Call,
  queue: string,
  queueType: string,
): Promise<number> => {
  const [row] = await query(call.ctx, {
    sql: `SELECT bucket_full_at FROM ${tables.limitUsage} WHERE queue = $1::text AND queue_type = $2::bigint`,
    params: [queue, queueType],
  });
  return Number(row?.["bucket_full_at"] ?? 0);
};

type Scope = Partial<Pick<Throttle, "typeName" | "group">>;

/** The jobs that count against one limit. */
interface Counted {
  readonly condition: string;
  readonly value: string | null;
}

export const explainThrottle = async (database: Database, call: ExplainCall): Promise<Throttle | null> => {
  const { query, tables } = database;
  if (!database.isId(call.jobId)) return null;
  const [row] = await query(call.ctx, { sql: jobSql(tables), params: [call.now ?? null, call.jobId] });
  if (row === undefined) return null;
  const [queue, typeName, queueType] = [text(row["queue"]), text(row["type_name"]), text(row["queue_type"])];
  const { over, now } = await readRules(database, call, queue);
  const rules = over(queue, typeName);
  const group = textOrNull(row["group_key"]);
  const isOrdered = !isNull(row["ordered"]) || row["group_ordered"] === true;

  const throttle = (by: ThrottleReason, scope: Scope, details: Partial<Throttle> = {}): Throttle => ({
    by,
    queue,
    typeName: null,
    group: null,
    limit: null,
    inUse: null,
    claimableAt: null,
    jobIds: [],
    ...scope,
    ...details,
  });

  const byLimits = async (
    { concurrency, rate }: LimitValues,
    readBucketFullAt: () => Promise<number>,
    scope: Scope,
    { condition, value }: Counted,
  ): Promise<Throttle | null> => {
    if (concurrency !== null) {
      const params = [call.now ?? null, queue, ...(value === null ? [] : [value])];
      const [counted] = await query(call.ctx, { sql: countedJobsSql(tables, condition), params });
      const inUse = Number(counted?.["count"]);
      if (inUse >= concurrency)
        return throttle("concurrency", scope, {
          limit: concurrency,
          inUse,
          jobIds: textList(counted?.["ids"]),
        });
    }
    if (rate === null) return null;
    const bucketFullAt = await readBucketFullAt();
    const isReached =
      findReachedLimit({ concurrency: null, rate }, { running: 0, bucketFullAt }, now) !== null;
    return isReached
      ? throttle("rate", scope, { limit: rate.limit, claimableAt: nextTokenAt(rate, bucketFullAt, now) })
      : null;
  };

  const byRule = async (
    rule: LimitRule | undefined,
    scope: Scope,
    useHome: string,
    counted: Counted,
  ): Promise<Throttle | null> => {
    if (rule === undefined) return null;
    if (isPausedAt(rule, now)) return throttle("paused", scope, { claimableAt: rule.pausedUntil });
    return byLimits(rule, () => readBucket(database, call, queue, useHome), scope, counted);
  };

  const byOrder = async (scope: Scope): Promise<Throttle | null> => {
    const ahead = await query(call.ctx, { sql: aheadSql(tables), params: [call.now ?? null, call.jobId] });
    if (ahead.length === 0) return null;
    const jobIds = ahead.map((each) => text(each["id"]));
    return throttle("order", scope, { claimableAt: numberOrNull(ahead[0]?.["claimable_at"]), jobIds });
  };

  const ofRules =
    (await byRule(rules.queue, {}, "0", { condition: "true", value: null })) ??
    (await byRule(rules.type, { typeName }, queueType, {
      condition: "coalesce(j.queue_type, j.claim_key) = $3::bigint",
      value: queueType,
    }));
  if (ofRules !== null || group === null) return ofRules;

  const scope = { typeName, group };
  const { stoppedBy, pausedUntil: pauseEnd } = await findHold(database, call, row);
  const { paused, pausedUntil } = describePause(pauseEnd, now);
  if (paused) return throttle("paused", scope, { claimableAt: pausedUntil });
  if (stoppedBy !== null) return throttle("stopped", scope, { jobIds: [stoppedBy] });
  const ofOrder = isOrdered ? await byOrder(scope) : null;
  if (ofOrder !== null) return ofOrder;
  const limits = limitsOfGroup(rules, { group, ordered: isOrdered ? "continue" : null });
  return byLimits(limits, async () => Number(row["bucket_full_at"]), scope, {
    condition: "j.claim_key = $3::bigint",
    value: text(row["claim_key"]),
  });
};
