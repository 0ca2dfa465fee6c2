import {
  claimFairly,
  expiredAttempt,
  newScopeState,
  ruleAt,
  runSync,
  type ScopeState,
  type TakenJob,
  type TurnsPort,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { defineRow, firstText } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { Attempts } from "../history/attempts.ts";
import type { JobLookup } from "../rows/job-table.ts";
import type { RequeueExpired, Runnable, RunnableScope } from "../rows/runnable.ts";
import { type GroupQueues, resumedVirtualTime } from "./group-queues.ts";
import { groupRow, type LimitRuleRows, type QueueRules, rulesOver, ruleStateRow } from "./rule-rows.ts";

/** Orders the jobs that have fallen due in their groups, and makes groups claimable whose time has come. */
type OpenDueGroups = (db: SqliteConnection, ruleId: number, now: number) => void;

// Of each. If there are more, the next claim continues.
const mostDueGroups = 1_000;

const mostDueJobs = 1_000;

const prepareOpenDueGroups = (tables: Tables): OpenDueGroups => {
  const { job, limitRule, groupState, groupIndex, timedGroupIndex } = tables;
  const findGroups = `SELECT json_group_array(claim_key) FROM
    (SELECT claim_key FROM ${groupState} INDEXED BY ${timedGroupIndex}
      WHERE limit_rule_id = ? AND claimable_at <= ? ORDER BY claimable_at LIMIT ${mostDueGroups})`;
  const later = "j.group_order IS NULL";
  const order = `UPDATE ${job} SET group_order = given_priority WHERE seq IN (SELECT j.seq FROM json_each(?) AS given
    CROSS JOIN ${job} AS j INDEXED BY ${groupIndex} ON j.claim_key = given.value
    WHERE ${later} AND j.scheduled_at <= ? LIMIT ${mostDueJobs})`;
  const open = `UPDATE ${groupState} AS g SET ${resumedVirtualTime(limitRule)}, claimable = 1,
      claimable_at = (SELECT min(j.scheduled_at) FROM ${job} AS j INDEXED BY ${groupIndex}
        WHERE ${later} AND j.claim_key = g.claim_key)
    WHERE claim_key IN (SELECT value FROM json_each(?))`;

  return (db, ruleId, now) => {
    const groups = firstText(db, findGroups, [ruleId, now])!;
    if (groups === "[]") return;
    db.run(order, [groups, now]);
    db.run(open, [groups]);
  };
};

export interface FairlyTaken {
  readonly taken: readonly TakenJob<number>[];
  /** Writes the states of queue, types and groups. The taken jobs must be running by then. */
  settle(): void;
}

/** Chooses up to `limit` jobs, by their `seq`, in a queue with rules or groups. */
export type ClaimFairly = (
  db: SqliteConnection,
  scope: RunnableScope,
  limit: number,
  now: number,
) => FairlyTaken;

const nothing: FairlyTaken = { taken: [], settle: () => undefined };

export const prepareClaimFairly = (
  tables: Tables,
  runnable: Runnable,
  limitRules: LimitRuleRows,
  groupQueues: GroupQueues,
  requeueExpired: RequeueExpired,
  lookup: JobLookup,
  attempts: Attempts,
): ClaimFairly => {
  const { job, limitRule, groupState, groupIndex, claimableGroupIndex } = tables;
  const readStates = `SELECT ${ruleStateRow.columns} FROM ${limitRule} WHERE queue = ?`;
  const writeState = `UPDATE ${limitRule} SET running = ?, bucket_full_at = ?, served_virtual_time = ?, ungrouped_virtual_time = ?,
    ungrouped_claimable = ? WHERE id = ?`;
  const listGroups = `SELECT ${groupRow.text} FROM (SELECT * FROM ${groupState} INDEXED BY ${claimableGroupIndex}
    WHERE limit_rule_id = ? AND claimable = 1 AND (virtual_time, claim_key) > (?, ?)
    ORDER BY virtual_time, claim_key LIMIT ?)`;
  // A drained group has jobs nevertheless if the clock was turned back.
  const writeGroups = `UPDATE ${groupState} AS g SET running = given.value ->> 1, bucket_full_at = given.value ->> 2,
      virtual_time = given.value ->> 3, claimable = given.value ->> 4,
      claimable_at = CASE WHEN given.value ->> 6 THEN (SELECT min(at) FROM (SELECT given.value ->> 5 AS at UNION ALL
          SELECT j.scheduled_at FROM ${job} AS j INDEXED BY ${groupIndex}
          WHERE j.claim_key = g.claim_key AND j.group_order IS NOT NULL))
        ELSE given.value ->> 5 END
    FROM json_each(?) AS given WHERE g.claim_key = given.value ->> 0`;
  const openDueGroups = prepareOpenDueGroups(tables);

  /** Frees the jobs and slots of expired leases together: the slot goes to the job whose turn it is. */
  const requeueLost = (db: SqliteConnection, scope: RunnableScope, now: number): void => {
    const ids = runnable.leased(db, scope, now).map(({ id }) => id);
    if (ids.length === 0) return;
    for (const expired of lookup.getJobs(db, ids)) attempts.add(db, expiredAttempt(expired!));
    groupQueues.leave(db, ids);
    requeueExpired(db, ids);
    groupQueues.enter(db, ids, now);
  };

  const claimFrom = (
    db: SqliteConnection,
    scope: RunnableScope,
    rules: QueueRules,
    limit: number,
    now: number,
  ): FairlyTaken => {
    const { queue } = scope;
    const states = new Map(ruleStateRow.all(db, readStates, [queue]).map((state) => [state.id, state]));
    const stateOf = (id: number | undefined): ScopeState =>
      (id === undefined ? undefined : states.get(id)) ?? newScopeState;
    const port: TurnsPort<number> = {
      claimableGroups: (typeName, after, size) => {
        const own = rules.types.get(typeName);
        if (own === undefined) return [];
        const from = [own.id, after?.virtualTime ?? -1, after?.key ?? -1, size];
        return groupRow.allOfText(db, listGroups, from);
      },
      heads: (groups, most, skip) =>
        runnable.headsOfGroups(
          db,
          groups.map(({ key }) => key),
          most,
          skip,
          now,
        ),
      ungrouped: (typeName, most) =>
        runnable
          .firstUngrouped(db, queue, typeName, most, now)
          .map(({ seq, priority, at }) => ({ job: seq, priority, dueAt: at, order: seq })),
    };
    const names = scope.typeNames === null ? runnable.typesOf(db, queue) : [...new Set(scope.typeNames)];
    const types = names.map((typeName) => {
      const own = rules.types.get(typeName);
      if (own !== undefined) openDueGroups(db, own.id, now);
      return { typeName, rules: rulesOver(rules, typeName), state: stateOf(own?.id) };
    });
    const { own } = rules;
    const claim = runSync(
      claimFairly(port, { queue: { rule: own.rule, state: stateOf(own.id) }, types, limit, now }),
    );

    const write = (id: number, state: ScopeState): void => {
      const { running, bucketFullAt, servedVirtualTime, ungroupedVirtualTime } = state;
      const isClaimable = Number(state.isUngroupedClaimable);
      db.run(writeState, [running, bucketFullAt, servedVirtualTime, ungroupedVirtualTime, isClaimable, id]);
    };
    return {
      taken: claim.taken,
      settle: () => {
        const groups = claim.groups.map((group) => [
          group.key,
          group.running,
          group.bucketFullAt,
          group.virtualTime,
          Number(group.isClaimable),
          group.claimableAt,
          Number(group.isDrained),
        ]);
        if (groups.length > 0) db.run(writeGroups, [JSON.stringify(groups)]);
        if (claim.queue !== undefined) write(own.id, claim.queue);
        for (const [typeName, state] of claim.types)
          write((rules.types.get(typeName) ?? limitRules.open(db, queue, typeName)).id, state);
      },
    };
  };

  return (db, scope, limit, now) => {
    const rules = limitRules.read(db).get(scope.queue);
    if (limit <= 0 || rules === undefined) return nothing;
    if (rules.own.rule !== undefined && ruleAt(rules.own.rule, now).paused) return nothing;
    requeueLost(db, scope, now);
    // Requeueing may have added rows of types.
    return claimFrom(db, scope, limitRules.read(db).get(scope.queue) ?? rules, limit, now);
  };
};

/** Deletes states of groups that equal the state of a new group, a page with each call. */
export type DeleteIdleGroups = (db: SqliteConnection, now: number) => void;

const mostIdleGroups = 2_000;

const pageRow = defineRow((columns) => ({
  count: columns.value<number>("count(*)"),
  last: columns.value<number | null>("max(claim_key)", null),
}));

export const prepareDeleteIdleGroups = (tables: Tables): DeleteIdleGroups => {
  const { job, limitRule, groupState, groupIndex } = tables;
  const findPage = `SELECT ${pageRow.columns} FROM
    (SELECT claim_key FROM ${groupState} WHERE claim_key > ? ORDER BY claim_key LIMIT ${mostIdleGroups})`;
  // Without jobs, counts and stops, with a full bucket, and with a virtual time at most one job ahead of the others. If each
  // group has one job, none is further ahead, and the served virtual time never passes them.
  const deleteIdle = `DELETE FROM ${groupState} AS g WHERE claim_key > ? AND claim_key <= ?
    AND claimable = 0 AND running = 0 AND stopped_by IS NULL AND claimable_at IS NULL AND bucket_full_at <= ?
    AND coalesce(paused_until, 0) <= ?
    AND virtual_time <= 1 + (SELECT served_virtual_time FROM ${limitRule} AS l WHERE l.id = g.limit_rule_id)
    AND NOT EXISTS (SELECT 1 FROM ${job} AS j INDEXED BY ${groupIndex} WHERE j.claim_key = g.claim_key)`;
  let visitedTo = 0;

  return (db, now) => {
    const { count, last } = pageRow.first(db, findPage, [visitedTo])!;
    if (last !== null) db.run(deleteIdle, [visitedTo, last, now * 1_000, now]);
    visitedTo = count < mostIdleGroups ? 0 : (last ?? 0);
  };
};
