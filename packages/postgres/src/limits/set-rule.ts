import {
  changedLimitRule,
  emptyLimitRule,
  type RateLimit,
  type LimitRule,
  keepSpent,
  type SetRuleCall,
  type SetRuleResult,
} from "leasehold/adapter";
import { type Call, type Context, type Database, repeatAlone } from "../database/database.ts";
import { arrayLiteral, nowSql } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { groupKey, queueTypeNumber } from "../rows/runnable.ts";
import { lockQueue } from "./claim.ts";
import { countRunningJobs } from "./deltas.ts";
import { queueTypeOf, ruleSelect, ruleValues, toLimitRule } from "./rules.ts";

interface ResumeCall extends Call {
  readonly queue: string;
  readonly typeName: string;
  readonly group: string;
}

// The delta makes the next claim check the group again.
const resumeSql = ({ groupState, limitDelta }: Tables): string => `
WITH resumed AS (
  UPDATE ${groupState} SET stopped_by = NULL WHERE claim_key = $1::bigint AND stopped_by IS NOT NULL RETURNING *
)
INSERT INTO ${limitDelta} (queue, queue_type, claim_key, group_key)
SELECT queue, queue_type, claim_key, group_key FROM resumed RETURNING 1`;

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
      params: [groupKey(queue, typeName, group)],
    });
    return rows.length > 0;
  });

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

const editBucket = async (
  { query, tables }: Database,
  { ctx, queue, typeName }: InTransaction,
  bound: number | undefined,
): Promise<void> => {
  if (bound === undefined) return;
  await query(ctx, {
    sql: `UPDATE ${tables.limitUsage} SET bucket_full_at = $3::bigint
      WHERE queue = $1::text AND queue_type = $2::bigint AND bucket_full_at > $3::bigint`,
    params: [queue, queueTypeOf(queue, typeName), bound],
  });
};

/** The groups to which this rule applies: `$1` is the queue, `$2` a list of types. */
const groupsOf = (typeName: string | null): string =>
  `g.queue = $1::text AND g.claim_key <> g.queue_type AND g.queue_type ${typeName === null ? "<> ALL" : "= ANY"} ($2::bigint[])`;

/** The rule of a queue applies to the groups of all types without a rule for groups. */
const typesOf = ({ queue, typeName }: SetCall, rules: QueueRules): string => {
  const types = typeName === null ? rules.types.filter(({ perGroup }) => perGroup !== null) : [{ typeName }];
  return arrayLiteral(types.map((type) => queueTypeOf(queue, type.typeName)));
};

/** Adjusts the buckets of groups whose limits have changed, and makes the next claim check throttled groups. */
const editGroups = async (
  { query, tables: { groupState, limitDelta } }: Database,
  call: InTransaction,
  rules: QueueRules,
  change: { readonly before: LimitRule; readonly after: LimitRule },
): Promise<void> => {
  const inherited = call.typeName === null ? undefined : rules.queue?.perGroup;
  const [before, after] = [change.before, change.after].map(({ perGroup }) => perGroup ?? inherited ?? null);
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  const groups = groupsOf(call.typeName);
  const params = [call.queue, typesOf(call, rules)];
  const bound = boundAfter(before?.rate ?? null, after?.rate ?? null, rules.now);
  if (bound !== undefined)
    await query(call.ctx, {
      sql: `UPDATE ${groupState} AS g SET bucket_full_at = $3::bigint WHERE ${groups} AND g.bucket_full_at > $3::bigint`,
      params: [...params, bound],
    });
  await query(call.ctx, {
    sql: `INSERT INTO ${limitDelta} (queue, queue_type, claim_key, group_key)
      SELECT g.queue, g.queue_type, g.claim_key, g.group_key FROM ${groupState} AS g WHERE ${groups} AND g.throttled`,
    params,
  });
};

const change = async (database: Database, call: InTransaction): Promise<SetRuleResult> => {
  const { queue, typeName, expectedVersion } = call;
  await lockQueue(database, call.ctx, queue);
  const rules = await readRules(database, call);
  const known = typeName === null ? rules.queue : rules.types.find((rule) => rule.typeName === typeName);
  const before = known ?? emptyLimitRule(queue, typeName);
  if (expectedVersion !== undefined && expectedVersion !== before.version)
    return { kind: "version_mismatch", rule: before };
  const after = changedLimitRule(before, call.change);
  if (after === before) return { kind: "unchanged", rule: before };
  await writeRule(database, call.ctx, after);
  await editBucket(database, call, boundAfter(before.rate, after.rate, rules.now));
  await editGroups(database, call, rules, { before, after });
  await countRunningJobs(database, call.ctx, queue, call.ctx === undefined);
  return { kind: "set", rule: after };
};

export const setRule = async (database: Database, call: SetCall): Promise<SetRuleResult> => {
  const result = await database.atomically(call.ctx, (ctx) => change(database, { ...call, ctx }));
  if (result.kind !== "set") return result;
  // Claims with an older copy of the rules may have run until the commit, and the first count skipped locked jobs.
  if (call.ctx === undefined)
    await repeatAlone(undefined, () => countRunningJobs(database, undefined, call.queue));
  await database.limits.load(call.ctx);
  return result;
};
