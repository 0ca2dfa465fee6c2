import {
  claimFairly,
  expiredAttempt,
  newScopeState,
  runSync,
  type ScopeState,
  type TakenJob,
  type TurnsPort,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { firstText } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { Attempts } from "../history/attempts.ts";
import type { JobLookup } from "../rows/job-table.ts";
import type { RequeueExpired, Runnable, RunnableScope } from "../rows/runnable.ts";
import { type Lines, reopened } from "./group-queues.ts";
import { groupRow, ruleStateRow } from "./group-rows.ts";
import { type Lanes, type QueueRules, rulesOver } from "./rule-rows.ts";

/** Orders the jobs that have fallen due in their groups, and makes groups claimable whose time has come. */
export type OpenDueGroups = (db: SqliteConnection, lane: number, now: number) => void;

// Of each. If there are more, the next claim continues.
const mostGroups = 1_000;

const mostJobs = 1_000;

const prepareOpenDueGroups = ({ job, lane, line, lineIndex, timedLineIndex }: Tables): OpenDueGroups => {
  const findGroups = `SELECT json_group_array(number) FROM (SELECT number FROM ${line} INDEXED BY ${timedLineIndex}
    WHERE lane = ? AND wake_at <= ? ORDER BY wake_at LIMIT ${mostGroups})`;
  const later = "j.rank IS NULL";
  const order = `UPDATE ${job} SET rank = given_priority WHERE seq IN (SELECT j.seq FROM json_each(?) AS given
    CROSS JOIN ${job} AS j INDEXED BY ${lineIndex} ON j.line = given.value
    WHERE ${later} AND j.scheduled_at <= ? LIMIT ${mostJobs})`;
  const open = `UPDATE ${line} AS line SET ${reopened(lane, "line")}, open = 1,
      wake_at = (SELECT min(j.scheduled_at) FROM ${job} AS j INDEXED BY ${lineIndex} WHERE ${later} AND j.line = line.number)
    WHERE number IN (SELECT value FROM json_each(?))`;

  return (db, number, now) => {
    const groups = firstText(db, findGroups, [number, now])!;
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
  lanes: Lanes,
  lines: Lines,
  requeueExpired: RequeueExpired,
  lookup: JobLookup,
  attempts: Attempts,
): ClaimFairly => {
  const { job, lane, line, lineIndex, openLineIndex } = tables;
  const readStates = `SELECT ${ruleStateRow.columns} FROM ${lane} WHERE queue = ?`;
  const writeState = `UPDATE ${lane} SET running = ?, tat = ?, turn = ?, served = ?, ungrouped_turn = ?,
    ungrouped_open = ? WHERE number = ?`;
  const listGroups = `SELECT ${groupRow.text} FROM (SELECT * FROM ${line} INDEXED BY ${openLineIndex}
    WHERE lane = ? AND open = 1 AND (turn, number) > (?, ?) ORDER BY turn, number LIMIT ?)`;
  // A drained group has jobs nevertheless if the clock was turned back.
  const writeGroups = `UPDATE ${line} AS line SET running = given.value ->> 1, tat = given.value ->> 2,
      turn = given.value ->> 3, open = given.value ->> 4,
      wake_at = CASE WHEN given.value ->> 6 THEN (SELECT min(at) FROM (SELECT given.value ->> 5 AS at UNION ALL
          SELECT j.scheduled_at FROM ${job} AS j INDEXED BY ${lineIndex}
          WHERE j.line = line.number AND j.rank IS NOT NULL))
        ELSE given.value ->> 5 END
    FROM json_each(?) AS given WHERE line.number = given.value ->> 0`;
  const openDueGroups = prepareOpenDueGroups(tables);

  /** Frees the jobs and slots of expired leases together: the slot goes to the job whose turn it is. */
  const requeueLost = (db: SqliteConnection, scope: RunnableScope, now: number): void => {
    const ids = runnable.leased(db, scope, now).map(({ id }) => id);
    if (ids.length === 0) return;
    for (const expired of lookup.getJobs(db, ids)) attempts.add(db, expiredAttempt(expired!));
    lines.leave(db, ids);
    requeueExpired(db, ids);
    lines.enter(db, ids, now);
  };

  const claimFrom = (
    db: SqliteConnection,
    scope: RunnableScope,
    rules: QueueRules,
    limit: number,
    now: number,
  ): FairlyTaken => {
    const { queue } = scope;
    const states = new Map(ruleStateRow.all(db, readStates, [queue]).map((state) => [state.number, state]));
    const stateOf = (number: number | undefined): ScopeState =>
      (number === undefined ? undefined : states.get(number)) ?? newScopeState;
    const port: TurnsPort<number> = {
      claimableGroups: (typeName, after, size) => {
        const own = rules.types.get(typeName);
        if (own === undefined) return [];
        const from = [own.number, after?.virtualTime ?? -1, after?.key ?? -1, size];
        return groupRow.allOfText(db, listGroups, from);
      },
      heads: (groups, most, skip) =>
        runnable.firstInLines(
          db,
          groups.map(({ key }) => key),
          most,
          skip,
          now,
        ),
      ungrouped: (typeName, most) =>
        runnable.firstOutside(db, queue, typeName, most, now).map(({ seq }) => seq),
    };
    const names = scope.typeNames === null ? runnable.typesOf(db, queue) : [...new Set(scope.typeNames)];
    const types = names.map((typeName) => {
      const own = rules.types.get(typeName);
      if (own !== undefined) openDueGroups(db, own.number, now);
      return { typeName, rules: rulesOver(rules, typeName), state: stateOf(own?.number) };
    });
    const { own } = rules;
    const claim = runSync(
      claimFairly(port, { queue: { rule: own.rule, state: stateOf(own.number) }, types, limit, now }),
    );

    const write = (number: number, state: ScopeState): void => {
      const { running, bucketFullAt, virtualTime, servedVirtualTime, ungroupedVirtualTime } = state;
      const isClaimable = Number(state.isUngroupedClaimable);
      db.run(writeState, [
        running,
        bucketFullAt,
        virtualTime,
        servedVirtualTime,
        ungroupedVirtualTime,
        isClaimable,
        number,
      ]);
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
        if (claim.queue !== undefined) write(own.number, claim.queue);
        for (const [typeName, state] of claim.types)
          write((rules.types.get(typeName) ?? lanes.open(db, queue, typeName)).number, state);
      },
    };
  };

  return (db, scope, limit, now) => {
    const rules = lanes.read(db).get(scope.queue);
    if (limit <= 0 || rules === undefined || rules.own.rule?.paused === true) return nothing;
    requeueLost(db, scope, now);
    // That may have added the rows of types.
    return claimFrom(db, scope, lanes.read(db).get(scope.queue) ?? rules, limit, now);
  };
};
