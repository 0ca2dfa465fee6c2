import {
  changedLimitRule,
  countedIn,
  emptyLimitRule,
  endOfPause,
  keepSpent,
  type LimitRule,
  limitsOfGroup,
  type RateLimit,
  ruleAt,
  type RulesOver,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow, firstNumber } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { keyFactor } from "../rows/job-table.ts";
import type { GroupQueues } from "./group-queues.ts";
import { type LimitRuleRow, type LimitRuleRows, type QueueRules, rulesOver } from "./rule-rows.ts";

export const prepareResumeGroup =
  (groupQueues: GroupQueues): Operation<"resumeGroup"> =>
  (db, group, now) => {
    const wasStopped = groupQueues.resume(db, group, null);
    return groupQueues.endPause(db, group, now) || wasStopped;
  };

export const preparePauseGroup =
  (groupQueues: GroupQueues): Operation<"pauseGroup"> =>
  (db, group, now) =>
    groupQueues.pause(db, group, endOfPause(group.until, now));

const runningRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  typeName: columns.value<string>("type_name"),
  group: columns.value<string | null>("group_key", null),
  ordered: columns.value<string | null>("ordered", null),
  counted: columns.value<number>("coalesce(counted_in, 0)"),
}));

const groupRateIn = ({ type, queue }: RulesOver): RateLimit | null =>
  (type?.perGroup ?? queue?.perGroup)?.rate ?? null;

const withRule = (rules: RulesOver, rule: LimitRule): RulesOver =>
  rule.typeName === null ? { ...rules, queue: rule } : { ...rules, type: rule };

export const prepareSetRule = (
  { job, limitRule, groupState, groupIndex, runningIndex }: Tables,
  limitRules: LimitRuleRows,
): Operation<"setRule"> => {
  const readBucket = `SELECT bucket_full_at FROM ${limitRule} WHERE id = ?`;
  const setBucket = `UPDATE ${limitRule} SET bucket_full_at = ? WHERE id = ?`;
  const setGroupBuckets = `UPDATE ${groupState} SET bucket_full_at = min(bucket_full_at, ?)
    WHERE limit_rule_id = ? AND bucket_full_at > ? AND group_key NOT IN (SELECT value FROM json_each(?))`;
  const setNamedBucket = `UPDATE ${groupState} SET bucket_full_at = min(bucket_full_at, ?)
    WHERE limit_rule_id = ? AND group_key = ?`;
  // Due whatever the clock says. Claims open and check a thousand of these at a time: there may be very many.
  const checkAgain = `UPDATE ${groupState} AS g SET claimable_at = 0
    WHERE limit_rule_id = ? AND claimable = 0 AND EXISTS (SELECT 1 FROM ${job} AS j INDEXED BY ${groupIndex}
      WHERE j.claim_key = g.claim_key AND j.group_order IS NOT NULL)`;
  const listRunning = `SELECT ${runningRow.columns} FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND queue = ?`;
  const countInGroup = `INSERT INTO ${groupState} (limit_rule_id, group_key, ordered, claimable, virtual_time, running)
    VALUES (?, ?, 0, 0, (SELECT served_virtual_time FROM ${limitRule} WHERE id = ?), 1)
    ON CONFLICT (limit_rule_id, group_key) DO UPDATE SET running = running + 1 RETURNING claim_key`;
  const mark = `UPDATE ${job} SET counted_in = ? WHERE seq = ?`;
  const addRunning = `UPDATE ${limitRule} SET running = running + 1 WHERE id = ?`;

  /** A new bucket is full. After an edit of the rate, spent tokens stay spent. */
  const editRate = (
    db: SqliteConnection,
    { id }: LimitRuleRow,
    before: LimitRule,
    rule: LimitRule,
    now: number,
  ): void => {
    if (rule.rate === before.rate) return;
    const bucketFullAt = firstNumber(db, readBucket, [id])!;
    const isNew = rule.rate === null || before.rate === null;
    db.run(setBucket, [isNew ? 0 : keepSpent(rule.rate, bucketFullAt, now), id]);
  };

  /** The same for the buckets of groups, which have the rate of their type or else of their queue. */
  const editGroupRates = (
    db: SqliteConnection,
    ruleId: number,
    before: RulesOver,
    after: RulesOver,
    now: number,
  ): void => {
    const named = new Set(
      [before, after].flatMap(({ type }) => (type === undefined ? [] : Object.keys(type.groups))),
    );
    const most = (was: RateLimit | null, is: RateLimit | null): number =>
      was === null || is === null ? 0 : keepSpent(is, Number.MAX_SAFE_INTEGER, now);
    const [was, is] = [groupRateIn(before), groupRateIn(after)];
    if (was !== is)
      db.run(setGroupBuckets, [most(was, is), ruleId, most(was, is), JSON.stringify([...named])]);
    for (const group of named) {
      const [own, next] = [before, after].map((rules) => limitsOfGroup(rules, { group, ordered: null }).rate);
      if (own !== next) db.run(setNamedBucket, [most(own!, next!), ruleId, group]);
    }
  };

  /** Counts the jobs that are running already against a new limit. */
  const countRunning = (db: SqliteConnection, queue: string, rules: QueueRules): void => {
    for (const { seq, typeName, group, ordered, counted } of runningRow.all(db, listRunning, [queue])) {
      const over = rulesOver(rules, typeName);
      const isLimited = (limits: { readonly concurrency: number | null } | undefined): boolean =>
        (limits?.concurrency ?? null) !== null;
      const wanted =
        (isLimited(limitsOfGroup(over, { group, ordered })) ? countedIn.group : 0) |
        (isLimited(over.type) ? countedIn.type : 0) |
        (isLimited(over.queue) ? countedIn.queue : 0);
      const missing = wanted & ~counted;
      if (missing === 0) continue;
      let claimKey = 0;
      if (missing & countedIn.group) {
        const { id } = limitRules.open(db, queue, typeName);
        claimKey = firstNumber(db, countInGroup, [id, group, id])!;
      }
      if (missing & countedIn.type) db.run(addRunning, [limitRules.open(db, queue, typeName).id]);
      if (missing & countedIn.queue) db.run(addRunning, [rules.own.id]);
      db.run(mark, [counted + missing + keyFactor * claimKey, seq]);
    }
  };

  return (db, { queue, typeName, change, expectedVersion }, now) => {
    const known = limitRules.read(db).get(queue);
    const found = typeName === null ? known?.own : known?.types.get(typeName);
    const before = ruleAt(found?.rule ?? emptyLimitRule(queue, typeName), now);
    if (expectedVersion !== undefined && expectedVersion !== before.version)
      return { kind: "version_mismatch", rule: before };
    const rule = changedLimitRule(before, change, now);
    if (rule === before) return { kind: "unchanged", rule };

    const row = limitRules.open(db, queue, typeName);
    const rulesBefore = limitRules.read(db).get(queue)!;
    editRate(db, row, before, rule, now);
    limitRules.setRule(db, row, rule);
    for (const type of typeName === null ? rulesBefore.types.values() : [row]) {
      const over = rulesOver(rulesBefore, type.typeName!);
      editGroupRates(db, type.id, over, withRule(over, rule), now);
      if (rule.perGroup !== before.perGroup || rule.groups !== before.groups) db.run(checkAgain, [type.id]);
    }
    countRunning(db, queue, limitRules.read(db).get(queue)!);
    return { kind: "set", rule };
  };
};
