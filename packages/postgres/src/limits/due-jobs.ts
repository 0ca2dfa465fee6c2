import { countClaimable, type RulesOver, type ThrottledJob, type ThrottlingScope } from "leasehold/adapter";
import type { Call, Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { clockCte, isNull, now as nowOf, numberOrNull, text, textOrNull } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import {
  attemptsLeftSql,
  deferredInGroupsSql,
  deferredSql,
  firstGroupKey,
  isBeforeGroupKeys,
  isDeferred,
  isDue,
  looseIndexScanSql,
  runOrder,
} from "../rows/runnable.ts";
import { type GroupHold, holdAfter } from "./deltas.ts";
import type { StoredRules } from "./read.ts";
import { queueTypeOf } from "./rules.ts";

/** The due jobs of a queue and type that a claim could take, and the others. */
export interface DueCounts {
  readonly queue: string;
  readonly typeName: string;
  readonly runnable: number;
  readonly throttled: number;
  readonly overdue: number;
  /** Of the runnable ones. */
  readonly oldest: number | null;
}

/** Pending past `expireAfterMs`: the job fails instead of running. */
export const isOverdue: string = `(j.expire_after_ms IS NOT NULL AND j.attempt = 0 AND j.scheduled_at + j.expire_after_ms <= ${nowOf})`;

// Counters lag behind by the deltas. As in an explanation, the running jobs are counted instead: also those that the next claim
// will count, because they ran before there was a limit. Those whose lease has expired hold no slot: the next claim returns them
// to the queue.
const runningSql = ({ job }: Tables): string => `
WITH ${clockCte("$1")}
SELECT queue, coalesce(queue_type, claim_key) AS queue_type, claim_key,
  count(*) FILTER (WHERE NOT free) AS busy, min(due_at) FILTER (WHERE free) AS freed_at
FROM (
  SELECT j.queue, j.queue_type, j.claim_key, j.due_at, ${isDue} AND ${attemptsLeftSql("j")} AS free
  FROM ${job} AS j WHERE j.status = 'running' LIMIT $2::int
) AS running GROUP BY 1, 2, 3`;

/** The running jobs of one group. */
interface RunningInGroup {
  readonly busy: number;
  /** The earliest end of an expired lease. */
  readonly freedAt: number | null;
}

interface Running {
  readonly inQueues: ReadonlyMap<string, number>;
  readonly inTypes: ReadonlyMap<string, number>;
  readonly inGroups: ReadonlyMap<string, RunningInGroup>;
}

const readRunning = async (
  { query, tables }: Database,
  { ctx }: Call,
  now: number,
  limit: number,
): Promise<Running> => {
  const [inQueues, inTypes] = [new Map<string, number>(), new Map<string, number>()];
  const inGroups = new Map<string, RunningInGroup>();
  const add = (counts: Map<string, number>, key: string, count: unknown): void =>
    void counts.set(key, (counts.get(key) ?? 0) + Number(count));
  for (const row of await query(ctx, { sql: runningSql(tables), params: [now, limit] })) {
    add(inQueues, text(row["queue"]), row["busy"]);
    add(inTypes, text(row["queue_type"]), row["busy"]);
    inGroups.set(text(row["claim_key"]), {
      busy: Number(row["busy"]),
      freedAt: numberOrNull(row["freed_at"]),
    });
  }
  return { inQueues, inTypes, inGroups };
};

const readBuckets = async ({ query, tables }: Database, { ctx }: Call): Promise<Map<string, number>> => {
  const rows = await query(ctx, {
    sql: `SELECT queue, queue_type, bucket_full_at FROM ${tables.limitUsage} WHERE bucket_full_at > 0`,
    params: [],
  });
  return new Map(
    rows.map((row) => [`${text(row["queue_type"])} ${text(row["queue"])}`, Number(row["bucket_full_at"])]),
  );
};

/** Groups that deltas have stopped, resumed or paused which are not applied yet, in this order. */
const readStops = async ({ query, tables }: Database, { ctx }: Call): Promise<readonly SqlRow[]> =>
  query(ctx, {
    sql: `SELECT claim_key, stopped_by, resumed_by, paused_until FROM ${tables.limitDelta}
      WHERE stopped_by IS NOT NULL OR resumed_by IS NOT NULL OR paused_until IS NOT NULL ORDER BY number`,
    params: [],
  });

const columns = `j.claim_key, j.queue, j.type_name, j.group_key, j.ordered, j.due_at, ${isOverdue} AS overdue`;

// How many jobs of an ordered group are searched that fell due after the last claim.
const mostDeferred = 1_000;

/**
 * The due jobs of each group, and the first job of ordered ones. There may be very many groups: reads ten times the cap, and of
 * each group the cap, so that one long group does not hide the others. Types whose own number is among the keys of groups are
 * included.
 */
const groupsSql = (tables: Tables): string => {
  const { job, groupState, limitRule } = tables;
  const headColumns = "j.priority, j.due_at, j.position, j.lease_version";
  const inGroup = `j.claim_key = b.claim_key AND j.status = 'pending'`;
  return `
WITH RECURSIVE ${clockCte("$1")},
${looseIndexScanSql(tables, "ready_group", `j.ready AND NOT (${isBeforeGroupKeys})`)},
${looseIndexScanSql(tables, "grouped", `${isDeferred} AND j.queue_type IS NOT NULL`, "queue_type")},
due AS (
  (SELECT found.* FROM ready_group CROSS JOIN LATERAL (
    SELECT ${columns} FROM ${job} AS j
    WHERE j.ready AND j.claim_key = ready_group.claim_key AND j.status = 'pending' AND ${isDue} LIMIT $2::int
  ) AS found LIMIT $3::int)
  UNION ALL
  SELECT found.* FROM grouped CROSS JOIN LATERAL (
    SELECT ${columns} FROM ${job} AS j WHERE ${deferredInGroupsSql("grouped.queue_type")} AND ${isDue}
    ORDER BY j.due_at LIMIT $2::int
  ) AS found
  UNION ALL
  SELECT found.* FROM ${limitRule} AS r CROSS JOIN LATERAL (
    SELECT ${columns} FROM ${job} AS j WHERE ${deferredSql("r.queue_type")} AND ${isDue} ORDER BY j.due_at LIMIT $2::int
  ) AS found WHERE r.queue_type >= ${firstGroupKey}
),
by_group AS (
  SELECT claim_key, queue, type_name, group_key, bool_or(ordered IS NOT NULL) AS ordered, count(*) AS count,
    count(*) FILTER (WHERE overdue) AS overdue, min(due_at) FILTER (WHERE NOT overdue) AS oldest
  FROM due GROUP BY 1, 2, 3, 4
)
SELECT b.claim_key, b.queue, b.type_name, b.group_key, b.count, b.overdue, b.oldest, b.ordered OR coalesce(g.ordered, false) AS ordered,
  g.stopped_by, g.paused_until, coalesce(g.bucket_full_at, 0) AS bucket_full_at,
  head.due_at AS head_at, head.lease_version AS head_leases, head.overdue AS head_overdue, head.due_at > ${nowOf} AS head_waits
FROM by_group AS b LEFT JOIN ${groupState} AS g ON g.claim_key = b.claim_key AND b.group_key IS NOT NULL
LEFT JOIN LATERAL (
  SELECT * FROM (
    (SELECT ${headColumns}, ${isOverdue} AS overdue FROM ${job} AS j WHERE j.ready AND ${inGroup} AND ${isDue}
      ORDER BY ${runOrder} LIMIT 1)
    UNION ALL
    (SELECT ${headColumns}, ${isOverdue} FROM ${job} AS j WHERE NOT j.ready AND ${inGroup} AND ${isDue}
      ORDER BY j.due_at LIMIT ${mostDeferred})
    UNION ALL
    (SELECT ${headColumns}, false FROM ${job} AS j
      WHERE NOT j.ready AND ${inGroup} AND j.ordered IS NOT NULL AND j.lease_version > 0 ORDER BY j.due_at LIMIT 1)
  ) AS first ORDER BY ${runOrder} LIMIT 1
) AS head ON b.ordered OR g.ordered`;
};

/** Decides which due jobs a claim could take, all at one time. */
export interface DueJobs {
  /** Whether a rule of the queue or type throttles every job of the type. */
  isThrottled(queue: string, typeName: string): boolean;
  /** The due jobs with a group; empty where no type has groups. */
  inGroups(cap: number): Promise<DueCounts[]>;
}

/** Reads jobs up to `limit` of each kind. */
export const readDueJobs = async (
  database: Database,
  call: Call,
  { rules, over, now }: StoredRules,
  limit: number,
): Promise<DueJobs> => {
  if (rules.length === 0) return { isThrottled: () => false, inGroups: () => Promise.resolve([]) };
  const running = await readRunning(database, call, now, limit);
  const buckets = await readBuckets(database, call);
  const scopeOf = (count: number, bucketFullAt: number): ThrottlingScope => ({
    running: count,
    bucketFullAt,
    holders: () => Array.from({ length: count }, () => ({ id: "" })),
  });

  type OfType = Omit<ThrottledJob, "ofGroup">;
  const known = new Map<string, OfType & { readonly isThrottled: boolean }>();
  const ofType = (queue: string, typeName: string): OfType & { readonly isThrottled: boolean } => {
    const queueType = queueTypeOf(queue, typeName);
    const found = known.get(queueType);
    if (found !== undefined) return found;
    const scopes: OfType = {
      queue,
      typeName,
      rules: over(queue, typeName) satisfies RulesOver,
      ofQueue: scopeOf(running.inQueues.get(queue) ?? 0, buckets.get(`0 ${queue}`) ?? 0),
      ofType: scopeOf(running.inTypes.get(queueType) ?? 0, buckets.get(`${queueType} ${queue}`) ?? 0),
    };
    const type = { ...scopes, isThrottled: countClaimable({ ...scopes, ofGroup: null }, 1, now) === 0 };
    known.set(queueType, type);
    return type;
  };

  const holdOf = (row: SqlRow, stops: readonly SqlRow[]): GroupHold =>
    holdAfter(
      row,
      stops.filter((delta) => text(delta["claim_key"]) === text(row["claim_key"])),
    );

  /** How many of the due jobs of a group a claim could take. */
  const countIn = (row: SqlRow, stops: readonly SqlRow[]): number => {
    const [queue, typeName, group] = [
      text(row["queue"]),
      text(row["type_name"]),
      textOrNull(row["group_key"]),
    ];
    const due = Number(row["count"]);
    const type = ofType(queue, typeName);
    if (group === null) return type.isThrottled ? 0 : due;
    const { busy = 0, freedAt = null } = running.inGroups.get(text(row["claim_key"])) ?? {};
    // A job whose lease has expired runs first, unless the head began before it.
    const freedFirst =
      freedAt !== null && (Number(row["head_leases"]) === 0 || freedAt < Number(row["head_at"]));
    const waits = busy > 0 || freedFirst || row["head_waits"] === true;
    const ofGroup = {
      ...scopeOf(busy, Number(row["bucket_full_at"])),
      group,
      isOrdered: row["ordered"] === true,
      ...holdOf(row, stops),
      ahead: () => ({ jobs: waits ? [{ id: "" }] : [], dueAt: null }),
    };
    return countClaimable({ ...type, ofGroup }, due, now);
  };

  return {
    isThrottled: (queue, typeName) => ofType(queue, typeName).isThrottled,
    inGroups: async (cap) => {
      if (!rules.some(({ hasGroups }) => hasGroups)) return [];
      const rows = await database.query(call.ctx, {
        sql: groupsSql(database.tables),
        params: [now, cap, limit],
      });
      const stops = await readStops(database, call);
      return rows.map((row) => {
        const [count, overdue] = [Number(row["count"]), Number(row["overdue"])];
        const claimable = countIn(row, stops);
        const isOrdered = row["ordered"] === true && !isNull(row["group_key"]);
        const ofHead = row["head_overdue"] === true ? 0 : 1;
        const runnable = claimable === 0 ? 0 : isOrdered ? ofHead : count - overdue;
        const since = isOrdered ? row["head_at"] : row["oldest"];
        return {
          queue: text(row["queue"]),
          typeName: text(row["type_name"]),
          runnable,
          throttled: count - overdue - runnable,
          overdue,
          oldest: runnable === 0 ? null : numberOrNull(since),
        };
      });
    },
  };
};
