import {
  countedIn,
  type GroupState,
  limitsClaimableAt,
  type LimitsInUse,
  newScopeState,
  pauseWithoutEnd,
  ruleClaimableAt,
  type RulesOver,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { defineRow, firstNumber } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { begunOrder, groupOrderOf, type OrderedJob } from "../rows/job-table.ts";
import type { LeasedJob, Runnable, RunnableScope } from "../rows/runnable.ts";
import { groupRow, limitsOf, type QueueRules, rulesOver, ruleStateRow } from "./rule-rows.ts";

/** A pending job in a group queue. */
export interface PlaceInGroup extends OrderedJob {
  readonly queue: string;
  readonly typeName: string;
  readonly claimKey: number;
  readonly seq: number;
}

/** Counts the jobs of its group that precede this one when it falls due, up to `cap`. */
export type CountInGroup = (db: SqliteConnection, place: PlaceInGroup, cap: number, now: number) => number;

const expiredRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  priority: columns.value<number>("coalesce(given_priority, priority)"),
  scheduledAt: columns.value<number>("leased_until"),
  leaseVersion: columns.value<number>("lease_version"),
  ordered: columns.value<string | null>("ordered", null),
}));

export const prepareCountInGroup = ({ job, groupIndex, runningIndex }: Tables): CountInGroup => {
  const countPending = `SELECT count(*) FROM (
    SELECT 1 FROM (SELECT coalesce(group_order, given_priority) AS place, scheduled_at, seq
      FROM ${job} INDEXED BY ${groupIndex}
      WHERE claim_key = ? AND (group_order = ${begunOrder} OR scheduled_at <= ?))
    WHERE (-place, scheduled_at, seq) < (-?, ?, ?) LIMIT ?)`;
  const listExpired = `SELECT ${expiredRow.columns} FROM ${job} INDEXED BY ${runningIndex} WHERE status = 'running'
    AND leased_until <= ? AND attempt < max_attempts AND queue = ? AND type_name = ? AND group_key IS ?`;

  return (db, place, cap, now) => {
    const { queue, typeName, group, claimKey, seq, scheduledAt } = place;
    const dueAt = Math.max(now, scheduledAt);
    const own = groupOrderOf(place, dueAt)!;
    const pending = firstNumber(db, countPending, [claimKey, dueAt, own, scheduledAt, seq, cap]) ?? 0;
    const expired = expiredRow.all(db, listExpired, [now, queue, typeName, group]).filter((other) => {
      const order = groupOrderOf({ ...other, group }, dueAt)!;
      const isSooner =
        other.scheduledAt < scheduledAt || (other.scheduledAt === scheduledAt && other.seq < seq);
      return order > own || (order === own && isSooner);
    });
    return Math.min(cap, pending + expired.length);
  };
};

const never = Number.POSITIVE_INFINITY;

const pageSize = 100;

/** More groups than this are left to claims. */
const mostDueGroups = 1_000;

/** When the leases end that hold slots of this kind. */
const endsOf = (leased: readonly LeasedJob[], slot: number) => (): number[] =>
  leased.filter((each) => (each.countedIn & slot) > 0).map(({ leasedUntil }) => leasedUntil);

/** When a claim finds a job in a queue with rules or groups: `now` or later, infinity for no known time. */
export type NextClaimableAt = (
  db: SqliteConnection,
  scope: RunnableScope,
  rules: QueueRules,
  now: number,
) => number;

export const prepareNextClaimableAt = (tables: Tables, runnable: Runnable): NextClaimableAt => {
  const { limitRule, groupState, claimableGroupIndex, timedGroupIndex } = tables;
  const readStates = `SELECT ${ruleStateRow.columns} FROM ${limitRule} WHERE queue = ?`;
  const listClaimable = `SELECT ${groupRow.columns} FROM ${groupState} INDEXED BY ${claimableGroupIndex}
    WHERE limit_rule_id = ? AND claimable = 1 AND (virtual_time, claim_key) > (?, ?)
    ORDER BY virtual_time, claim_key LIMIT ${pageSize}`;
  const listTimed = `SELECT ${groupRow.columns} FROM ${groupState} INDEXED BY ${timedGroupIndex}
    WHERE limit_rule_id = ? AND claimable_at IS NOT NULL AND (claimable_at, claim_key) > (?, ?)
    ORDER BY claimable_at, claim_key LIMIT ${pageSize}`;
  const findGroup = `SELECT ${groupRow.columns} FROM ${groupState} WHERE limit_rule_id = ? AND group_key = ?`;

  const groupClaimableAt = (
    db: SqliteConnection,
    state: GroupState,
    rules: RulesOver,
    leased: readonly LeasedJob[],
    now: number,
  ): number => {
    const { stoppedBy, pausedUntil } = state;
    if (stoppedBy !== null || pausedUntil === pauseWithoutEnd) return never;
    const ofGroup = leased.filter(({ group }) => group === state.group);
    const dueAt = Math.min(
      runnable.groupDueAt(db, state.key, now) ?? never,
      ofGroup[0]?.leasedUntil ?? never,
    );
    const limits = limitsOf(rules, state);
    const roomAt = limitsClaimableAt(limits, state, endsOf(ofGroup, countedIn.group), now);
    return Math.max(dueAt, roomAt, pausedUntil ?? 0);
  };

  /** When the first group of a type is claimable. */
  const groupsClaimableAt = (
    db: SqliteConnection,
    ruleId: number,
    rules: RulesOver,
    leased: readonly LeasedJob[],
    now: number,
  ): number => {
    const claimableAt = (state: GroupState): number => groupClaimableAt(db, state, rules, leased, now);
    let first = never;
    // A group whose running jobs are not counted may have no state: then it has no pending job.
    for (const group of new Set(leased.map((each) => each.group))) {
      if (group === null) continue;
      const state = groupRow.first(db, findGroup, [ruleId, group]);
      const end = leased.find((each) => each.group === group)!.leasedUntil;
      first = Math.min(first, state === undefined ? end : claimableAt(state));
    }
    let last: GroupState | undefined;
    do {
      const page = groupRow.all(db, listClaimable, [ruleId, last?.virtualTime ?? -1, last?.key ?? -1]);
      for (const state of page) {
        first = Math.min(first, claimableAt(state));
        if (first <= now) return now;
      }
      last = page.length < pageSize ? undefined : page.at(-1);
    } while (last !== undefined);
    // No group is claimable before its `claimable_at`: the search ends at the first that is later than the result so far.
    let due = 0;
    do {
      const page = groupRow.all(db, listTimed, [ruleId, last?.claimableAt ?? -1, last?.key ?? -1]);
      for (const state of page) {
        if (state.claimableAt! >= first) return first;
        if (state.claimableAt! <= now) due += 1;
        first = Math.min(first, claimableAt(state));
        // After a change of the rules many groups are to be checked again: claims do that, a portion at a time.
        if (first <= now || due > mostDueGroups) return now;
      }
      last = page.length < pageSize ? undefined : page.at(-1);
    } while (last !== undefined);
    return first;
  };

  return (db, scope, rules, now) => {
    const { queue, typeNames } = scope;
    const states = new Map(ruleStateRow.all(db, readStates, [queue]).map((state) => [state.id, state]));
    const stateOf = (id: number | undefined): LimitsInUse =>
      (id === undefined ? undefined : states.get(id)) ?? newScopeState;
    const leased = runnable.leased(db, scope);
    const { own } = rules;
    const queueAt = ruleClaimableAt(own.rule, stateOf(own.id), endsOf(leased, countedIn.queue), now);
    if (queueAt === never) return never;

    const typeAt = (typeName: string): number => {
      const row = rules.types.get(typeName);
      const ofType = leased.filter((each) => each.typeName === typeName);
      const byRule = ruleClaimableAt(row?.rule, stateOf(row?.id), endsOf(ofType, countedIn.type), now);
      if (byRule === never) return never;
      const leaseEnd = ofType.find(({ group }) => group === null)?.leasedUntil ?? never;
      const first = Math.min(leaseEnd, runnable.nextUngroupedAt(db, queue, typeName) ?? never);
      if (first <= now || row === undefined) return Math.max(first, byRule);
      const over = rulesOver(rules, typeName);
      return Math.max(Math.min(first, groupsClaimableAt(db, row.id, over, ofType, now)), byRule);
    };
    const types = typeNames ?? [...runnable.typesOf(db, queue), ...leased.map(({ typeName }) => typeName)];
    return Math.max(queueAt, Math.min(never, ...[...new Set(types)].map(typeAt)));
  };
};
