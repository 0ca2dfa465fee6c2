import {
  changedLimitRule,
  emptyLimitRule,
  endOfPause,
  type LimitRule,
  type LimitValues,
  type RateLimit,
  keepSpent,
  limitsOfGroup,
  type RulesOver,
  type PauseGroupCall,
  ruleAt,
  type SetRuleCall,
  type SetRuleResult,
} from "leasehold/adapter";
import { type Call, type Context, type Database, repeatAlone } from "../database/database.ts";
import { arrayLiteral, nowSql } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { groupKey, queueTypeNumber } from "../rows/runnable.ts";
import { lockQueue, settleQueue } from "./claim.ts";
import { queueTypeOf, registerGroups, ruleSelect, ruleValues, toLimitRule } from "./rules.ts";

interface ResumeCall extends Call {
  readonly queue: string;
  readonly typeName: string;
  readonly group: string;
}

// The delta makes the next claim check the group again.
const resumeSql = ({ groupState, limitDelta }: Tables): string => `
WITH held AS (
  SELECT stopped_by IS NOT NULL OR paused_until > ${nowSql("$2")} AS is_held FROM ${groupState} WHERE claim_key = $1::bigint
),
resumed AS (
  UPDATE ${groupState} SET stopped_by = NULL, paused_until = NULL
  WHERE claim_key = $1::bigint AND (stopped_by IS NOT NULL OR paused_until IS NOT NULL) RETURNING *
),
noted AS (
  INSERT INTO ${limitDelta} (queue, queue_type, claim_key, group_key)
  SELECT queue, queue_type, claim_key, group_key FROM resumed
)
SELECT is_held FROM held`;

export const resumeGroup = (database: Database, call: ResumeCall): Promise<boolean> =>
  database.atomically(call.ctx, async (ctx) => {
    const { queue, typeName, group } = call;
    await lockQueue(database, ctx, queue);
    // The failure that stopped the group may be in a delta that is not applied yet.
    await database.query(ctx, {
      sql: `SELECT ${database.tables.schema}.limit_settle($1::bigint, $2::text, ARRAY[$3::bigint])`,
      params: [call.now ?? null, queue, queueTypeNumber(queue, typeName)],
    });
    const rows = await database.query(ctx, {
      sql: resumeSql(database.tables),
      params: [groupKey(queue, typeName, group), call.now ?? null],
    });
    return rows[0]?.["is_held"] === true;
  });

const pauseSql = ({ limitDelta }: Tables): string => `
INSERT INTO ${limitDelta} (queue, queue_type, claim_key, group_key, paused_until)
SELECT $1::text, $2::bigint, $3::bigint, $4::text, coalesce($5::bigint, ${nowSql("$7")} + $6::bigint)`;

/** Inserts a delta and takes no lock: handlers call this, maybe in a transaction of their own that lasts. */
export const pauseGroup = async (database: Database, call: Call & PauseGroupCall): Promise<void> => {
  const { queue, typeName, group, until } = call;
  const queueType = queueTypeNumber(queue, typeName);
  const afterMs = until !== null && "afterMs" in until ? until.afterMs : null;
  await registerGroups(database, call.ctx, queue, typeName);
  await database.query(call.ctx, {
    sql: pauseSql(database.tables),
    params: [
      queue,
      queueType,
      groupKey(queue, typeName, group),
      group,
      afterMs === null ? endOfPause(until, 0) : null,
      afterMs,
      call.now ?? null,
    ],
  });
  // The next claim applies the first of many deltas. This one must be among them.
  if (call.ctx === undefined) await repeatAlone(undefined, () => settleQueue(database, call, queue, []));
};

type SetCall = Call & SetRuleCall;

type InTransaction = SetCall & { readonly ctx: Context };

/** The rules of one queue: its own, and those of its types. */
interface QueueRules {
  readonly queue: LimitRule | undefined;
  readonly types: readonly LimitRule[];
  readonly now: number;
}

const readSql = ({ limitEpoch, limitRule }: Tables): string => `
SELECT ${nowSql("$2")} AS now, ${ruleSelect("r")}
FROM ${limitEpoch} AS e LEFT JOIN ${limitRule} AS r ON r.queue = $1::text`;

const readRules = async (
  { query, tables }: Database,
  { ctx, queue, now }: InTransaction,
): Promise<QueueRules> => {
  const rows = await query(ctx, { sql: readSql(tables), params: [queue, now ?? null] });
  const rules = rows.filter((row) => row["queue"] !== null).map(toLimitRule);
  return {
    queue: rules.find(({ typeName }) => typeName === null),
    types: rules.filter(({ typeName }) => typeName !== null),
    now: Number(rows[0]?.["now"]),
  };
};

/** Each change raises the epoch in the same statement, so that other processes reload their rules. */
const writeSql = ({ limitEpoch, limitRule }: Tables, rule: LimitRule): string => {
  const values = ruleValues(rule);
  const columns = values.map(([column]) => column);
  return `
WITH written AS (
  INSERT INTO ${limitRule} (${columns.join(", ")})
  VALUES (${values.map(([, type], index) => `$${index + 1}::${type}`).join(", ")})
  ON CONFLICT (queue, queue_type) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}
)
UPDATE ${limitEpoch} SET epoch = epoch + 1`;
};

const writeRule = async ({ query, tables }: Database, ctx: Context, rule: LimitRule): Promise<void> => {
  const params = ruleValues(rule).map(([, , value]) => value);
  await query(ctx, { sql: writeSql(tables, rule), params });
};

/** The highest `bucket_full_at` after a change of the rate: 0 for full buckets. Undefined if the rate is the same. */
const boundAfter = (before: RateLimit | null, after: RateLimit | null, now: number): number | undefined => {
  if (JSON.stringify(before) === JSON.stringify(after)) return undefined;
  return before === null || after === null ? 0 : keepSpent(after, Number.MAX_SAFE_INTEGER, now);
};

/** The types whose groups have the limits of this rule: for a queue, all types without a rule for groups. */
const groupTypesOf = ({ queue, typeName }: SetCall, rules: QueueRules): string[] => {
  const types = typeName === null ? rules.types.filter(({ perGroup }) => perGroup === null) : [{ typeName }];
  return types.map((type) => queueTypeOf(queue, type.typeName));
};

const begins = (before: LimitValues | null | undefined, after: LimitValues | null | undefined): boolean =>
  (before?.concurrency ?? null) === null && (after?.concurrency ?? null) !== null;

const editSql = ({ limitEdit }: Tables): string => `
INSERT INTO ${limitEdit} (queue, queue_type, bucket_bound, group_bound, group_types, counts, named_keys)
VALUES ($1::text, $2::bigint, $3::bigint, $4::bigint, $5::bigint[], $6::boolean, $7::bigint[])`;

const editGroupsSql = ({ limitEdit }: Tables): string => `
INSERT INTO ${limitEdit} (queue, queue_type, claim_key, group_bound)
SELECT $1::text, $2::bigint, key, nullif(bound, -1) FROM unnest($3::bigint[], $4::bigint[]) AS edited (key, bound)`;

const namedKeys = (rules: readonly LimitRule[]): string[] =>
  rules.flatMap(({ queue, typeName, groups }) =>
    typeName === null ? [] : Object.keys(groups).map((group) => groupKey(queue, typeName, group)),
  );

/** The groups that one of the rules names and whose limits are not the same in both, with these limits. */
const changedNamedGroups = (before: RulesOver, after: RulesOver) =>
  [...new Set([before, after].flatMap(({ type }) => Object.keys(type?.groups ?? {})))]
    .map((group) => {
      const [was, is] = [before, after].map((over) => limitsOfGroup(over, { group, ordered: null }));
      return { group, was: was!, is: is! };
    })
    .filter(({ was, is }) => JSON.stringify(was) !== JSON.stringify(is));

/**
 * Leaves it to the next claim to adjust buckets, count running jobs and check groups. This transaction may stay open for long:
 * it must not lock what claims write, and cannot count the jobs that are claimed before it commits.
 */
const leaveEdits = async (
  { query, tables }: Database,
  call: InTransaction,
  rules: QueueRules,
  { before, after }: { readonly before: LimitRule; readonly after: LimitRule },
): Promise<void> => {
  const inherited = call.typeName === null ? null : (rules.queue?.perGroup ?? null);
  const [groupsBefore, groupsAfter] = [before, after].map(({ perGroup }) => perGroup ?? inherited);
  const bucketBound = boundAfter(before.rate, after.rate, rules.now);
  const changesGroups = JSON.stringify(groupsBefore) !== JSON.stringify(groupsAfter);
  const groupRate = groupsAfter?.rate ?? null;
  // Without a rate no bucket is read.
  const groupBound =
    groupRate === null ? undefined : boundAfter(groupsBefore?.rate ?? null, groupRate, rules.now);
  const insert = async (counts: boolean): Promise<void> => {
    await query(call.ctx, {
      sql: editSql(tables),
      params: [
        call.queue,
        queueTypeOf(call.queue, call.typeName),
        bucketBound ?? null,
        groupBound ?? null,
        arrayLiteral(changesGroups ? groupTypesOf(call, rules) : []),
        counts,
        arrayLiteral(namedKeys([...rules.types, before, after])),
      ],
    });
  };
  const { typeName } = call;
  const named =
    typeName === null
      ? []
      : changedNamedGroups({ queue: rules.queue, type: before }, { queue: rules.queue, type: after });
  if (named.length > 0) {
    // Without a rate no bucket is read; -1 is no bound.
    const bounds = named.map(({ was, is }) =>
      is.rate === null ? -1 : (boundAfter(was.rate, is.rate, rules.now) ?? -1),
    );
    await query(call.ctx, {
      sql: editGroupsSql(tables),
      params: [
        call.queue,
        queueTypeOf(call.queue, typeName),
        arrayLiteral(named.map(({ group }) => groupKey(call.queue, typeName!, group))),
        arrayLiteral(bounds),
      ],
    });
  }
  if (changesGroups || bucketBound !== undefined) await insert(false);
  const isCounted = named.some(({ was, is }) => begins(was, is));
  if (isCounted || begins(before, after) || begins(groupsBefore, groupsAfter)) await insert(true);
};

const change = async (database: Database, call: InTransaction): Promise<SetRuleResult> => {
  const { queue, typeName, expectedVersion } = call;
  // Changes of rules wait for one another, and the next statement reads what the last one has committed.
  await database.query(call.ctx, {
    sql: `SELECT epoch FROM ${database.tables.limitEpoch} FOR UPDATE`,
    params: [],
  });
  const rules = await readRules(database, call);
  const known = typeName === null ? rules.queue : rules.types.find((rule) => rule.typeName === typeName);
  const before = ruleAt(known ?? emptyLimitRule(queue, typeName), rules.now);
  if (expectedVersion !== undefined && expectedVersion !== before.version)
    return { kind: "version_mismatch", rule: before };
  const after = changedLimitRule(before, call.change, rules.now);
  if (after === before) return { kind: "unchanged", rule: before };
  await writeRule(database, call.ctx, after);
  await leaveEdits(database, call, rules, { before, after });
  return { kind: "set", rule: after };
};

export const setRule = async (database: Database, call: SetCall): Promise<SetRuleResult> => {
  const result = await database.atomically(call.ctx, (ctx) => change(database, { ...call, ctx }));
  if (result.kind !== "set") return result;
  // A later claim would do the same.
  if (call.ctx === undefined) await repeatAlone(undefined, () => settleQueue(database, call, call.queue, []));
  await database.limits.load(call.ctx);
  return result;
};
