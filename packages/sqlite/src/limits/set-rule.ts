import {
  changedLimitRule,
  emptyLimitRule,
  type RateLimit,
  type LimitRule,
  keepSpent,
  limitsOfGroup,
  type RulesOver,
  tokenInterval,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { slotOf, slotsPerLine } from "../rows/places.ts";
import { type Lines, reopened } from "./group-queues.ts";
import { type Lane, type Lanes, type QueueRules, rulesOver } from "./rule-rows.ts";

export const prepareResumeGroup =
  (lines: Lines): Operation<"resumeGroup"> =>
  (db, group) =>
    lines.resume(db, group, null);

const runningRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  typeName: columns.value<string>("type_name"),
  group: columns.value<string | null>("group_key", null),
  ordered: columns.value<string | null>("ordered", null),
  slots: columns.value<number>("coalesce(slots, 0)"),
}));

const groupRateIn = ({ type, queue }: RulesOver): RateLimit | null =>
  (type?.perGroup ?? queue?.perGroup)?.rate ?? null;

/** With the rule of one of them changed. */
const withRule = (over: RulesOver, rule: LimitRule): RulesOver =>
  rule.typeName === null ? { ...over, queue: rule } : { ...over, type: rule };

export const prepareSetRule = (
  { job, lane: table, line, lineIndex, runningIndex }: Tables,
  lanes: Lanes,
): Operation<"setRule"> => {
  const readTat = `SELECT tat FROM ${table} WHERE number = ?`;
  const setTat = `UPDATE ${table} SET tat = ? WHERE number = ?`;
  const setLineTats = `UPDATE ${line} SET tat = min(tat, ?) WHERE lane = ? AND tat > ?`;
  const reopen = `UPDATE ${line} AS line SET ${reopened(table, "line")}, open = 1 WHERE lane = ? AND open = 0
    AND EXISTS (SELECT 1 FROM ${job} AS j INDEXED BY ${lineIndex}
      WHERE j.line = line.number AND j.rank IS NOT NULL)`;
  const listRunning = `SELECT ${runningRow.columns} FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND queue = ?`;
  const openLine = `INSERT INTO ${line} (lane, group_key, ordered, open, turn, running)
    VALUES (?, ?, 0, 0, (SELECT served FROM ${table} WHERE number = ?), 1)
    ON CONFLICT (lane, group_key) DO UPDATE SET running = running + 1 RETURNING number`;
  const mark = `UPDATE ${job} SET slots = ? WHERE seq = ?`;
  const addRunning = `UPDATE ${table} SET running = running + 1 WHERE number = ?`;

  /** A bucket that is new is full. One whose rate was edited keeps what was spent. */
  const editRate = (
    db: SqliteConnection,
    { number }: Lane,
    before: LimitRule,
    rule: LimitRule,
    now: number,
  ): void => {
    if (rule.rate === before.rate) return;
    const [tat] = db.first(readTat, [number]) as [number];
    const isNew = rule.rate === null || before.rate === null;
    db.run(setTat, [isNew ? 0 : keepSpent(rule.rate, tat, now), number]);
  };

  /** The same for the buckets of groups, which go by the rule of their type or else of their queue. */
  const editGroupRates = (
    db: SqliteConnection,
    number: number,
    before: RulesOver,
    after: RulesOver,
    now: number,
  ): void => {
    const [was, is] = [groupRateIn(before), groupRateIn(after)];
    if (was === is) return;
    const most = was === null || is === null ? 0 : now * 1_000 + is.burst * tokenInterval(is);
    db.run(setLineTats, [most, number, most]);
  };

  /** Jobs that run already are counted against a new limit, and say so. */
  const countRunning = (db: SqliteConnection, queue: string, queueLanes: QueueRules): void => {
    for (const { seq, typeName, group, ordered, slots } of runningRow.all(db, listRunning, [queue])) {
      const over = rulesOver(queueLanes, typeName);
      const isLimited = (limits: { readonly concurrency: number | null } | undefined): boolean =>
        (limits?.concurrency ?? null) !== null;
      const wanted =
        (isLimited(limitsOfGroup(over, { group, ordered })) ? slotOf.line : 0) |
        (isLimited(over.type) ? slotOf.type : 0) |
        (isLimited(over.queue) ? slotOf.queue : 0);
      const missing = wanted & ~slots;
      if (missing === 0) continue;
      let number = 0;
      if (missing & slotOf.line) {
        const { number: lane } = lanes.open(db, queue, typeName);
        number = (db.first(openLine, [lane, group, lane]) as [number])[0];
      }
      if (missing & slotOf.type) db.run(addRunning, [lanes.open(db, queue, typeName).number]);
      if (missing & slotOf.queue) db.run(addRunning, [queueLanes.own.number]);
      db.run(mark, [slots + missing + slotsPerLine * number, seq]);
    }
  };

  return (db, { queue, typeName, change, expectedVersion }, now) => {
    const known = lanes.read(db);
    const found = typeName === null ? known.get(queue)?.own : known.get(queue)?.types.get(typeName);
    const before = found?.rule ?? emptyLimitRule(queue, typeName);
    if (expectedVersion !== undefined && expectedVersion !== before.version)
      return { kind: "version_mismatch", rule: before };
    const rule = changedLimitRule(before, change);
    if (rule === before) return { kind: "unchanged", rule };

    const lane = lanes.open(db, queue, typeName);
    const queueBefore = lanes.read(db).get(queue)!;
    editRate(db, lane, before, rule, now);
    lanes.setRule(db, lane, rule);
    for (const type of typeName === null ? queueBefore.types.values() : [lane]) {
      const over = rulesOver(queueBefore, type.typeName!);
      const next = withRule(over, rule);
      editGroupRates(db, type.number, over, next, now);
      if (rule.perGroup !== before.perGroup) db.run(reopen, [type.number]);
    }
    countRunning(db, queue, lanes.read(db).get(queue)!);
    return { kind: "set", rule };
  };
};
