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
import { groupLineNumber, queueTypeNumber } from "../rows/runnable.ts";
import { lockQueue } from "./claim.ts";
import { countRunningJobs } from "./deltas.ts";
import { queueTypeOf, ruleSelect, ruleValues, toFlowRule } from "./rules.ts";

interface ResumeCall extends Call {
  readonly queue: string;
  readonly typeName: string;
  readonly group: string;
}

// The note makes the next claim look at the line again.
const resumeSql = ({ line, lineNote }: Tables): string => `
WITH resumed AS (
  UPDATE ${line} SET stopped_by = NULL WHERE number = $1::bigint AND stopped_by IS NOT NULL RETURNING *
)
INSERT INTO ${lineNote} (queue, home, line, group_key) SELECT queue, home, number, group_key FROM resumed RETURNING 1`;

export const resumeGroup = (database: Database, call: ResumeCall): Promise<boolean> =>
  database.atomically(call.ctx, async (ctx) => {
    const { queue, typeName, group } = call;
    await lockQueue(database, ctx, queue);
    // The failure that stopped it may still be in a note.
    await database.query(ctx, {
      sql: `SELECT ${database.tables.schema}.flow_settle($1::bigint, $2::text, ARRAY[$3::bigint])`,
      params: [call.now ?? null, queue, queueTypeNumber(queue, typeName)],
    });
    const rows = await database.query(ctx, {
      sql: resumeSql(database.tables),
      params: [groupLineNumber(queue, typeName, group)],
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

const readSql = ({ flow, flowRule }: Tables): string => `
SELECT ${nowSql("$2")} AS now, ${ruleSelect("r")}
FROM ${flow} AS f LEFT JOIN ${flowRule} AS r ON r.queue = $1::text`;

const readRules = async (
  { query, tables }: Database,
  { ctx, queue, now }: InTransaction,
): Promise<QueueRules> => {
  const rows = await query(ctx, { sql: readSql(tables), params: [queue, now ?? null] });
  const rules = rows.filter((row) => row["queue"] !== null).map(toFlowRule);
  return {
    queue: rules.find(({ typeName }) => typeName === null),
    types: rules.filter(({ typeName }) => typeName !== null),
    now: Number(rows[0]?.["now"]),
  };
};

/** Every change raises the epoch, in the same statement: it is how others notice. */
const writeSql = ({ flow, flowRule }: Tables, rule: LimitRule): string => {
  const values = ruleValues(rule);
  const columns = values.map(([column]) => column);
  return `
WITH written AS (
  INSERT INTO ${flowRule} (${columns.join(", ")})
  VALUES (${values.map(([, type], index) => `$${index + 1}::${type}`).join(", ")})
  ON CONFLICT (queue, home) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}
)
UPDATE ${flow} SET epoch = epoch + 1`;
};

const writeRule = async ({ query, tables }: Database, ctx: Context, rule: LimitRule): Promise<void> => {
  const params = ruleValues(rule).map(([, , value]) => value);
  await query(ctx, { sql: writeSql(tables, rule), params });
};

/** The highest `tat` that buckets may have after a change of their rate: 0 for full ones. Undefined if it did not change. */
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
    sql: `UPDATE ${tables.flowUse} SET tat = $3::bigint WHERE queue = $1::text AND home = $2::bigint AND tat > $3::bigint`,
    params: [queue, queueTypeOf(queue, typeName), bound],
  });
};

/** Which lines go by this rule, for a statement with the queue as `$1` and a list of lanes as `$2`. */
const linesOf = (typeName: string | null): string =>
  `l.queue = $1::text AND l.number <> l.home AND l.home ${typeName === null ? "<> ALL" : "= ANY"} ($2::bigint[])`;

/** The rule of a queue is for the groups of all its types but those that have their own. */
const lanesOf = ({ queue, typeName }: SetCall, rules: QueueRules): string => {
  const types = typeName === null ? rules.types.filter(({ perGroup }) => perGroup !== null) : [{ typeName }];
  return arrayLiteral(types.map((type) => queueTypeOf(queue, type.typeName)));
};

/** The limits of groups have changed: their buckets are adjusted, and closed lines are looked at by the next claim. */
const editLines = async (
  { query, tables: { line, lineNote } }: Database,
  call: InTransaction,
  rules: QueueRules,
  change: { readonly before: LimitRule; readonly after: LimitRule },
): Promise<void> => {
  const inherited = call.typeName === null ? undefined : rules.queue?.perGroup;
  const [before, after] = [change.before, change.after].map(({ perGroup }) => perGroup ?? inherited ?? null);
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  const lines = linesOf(call.typeName);
  const params = [call.queue, lanesOf(call, rules)];
  const bound = boundAfter(before?.rate ?? null, after?.rate ?? null, rules.now);
  if (bound !== undefined)
    await query(call.ctx, {
      sql: `UPDATE ${line} AS l SET tat = $3::bigint WHERE ${lines} AND l.tat > $3::bigint`,
      params: [...params, bound],
    });
  await query(call.ctx, {
    sql: `INSERT INTO ${lineNote} (queue, home, line, group_key)
      SELECT l.queue, l.home, l.number, l.group_key FROM ${line} AS l WHERE ${lines} AND l.held`,
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
  await editLines(database, call, rules, { before, after });
  await countRunningJobs(database, call.ctx, queue, call.ctx === undefined);
  return { kind: "set", rule: after };
};

export const setRule = async (database: Database, call: SetCall): Promise<SetRuleResult> => {
  const result = await database.atomically(call.ctx, (ctx) => change(database, { ...call, ctx }));
  if (result.kind !== "set") return result;
  // Claims that did not know of the rule may have taken jobs until a moment ago, and others may have been locked.
  if (call.ctx === undefined)
    await repeatAlone(undefined, () => countRunningJobs(database, undefined, call.queue));
  await database.flow.load(call.ctx);
  return result;
};
