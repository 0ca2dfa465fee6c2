import {
  expiredAttempt,
  findThrottleOfRule,
  type LimitValues,
  type LimitRule,
  type RulesOver,
  spendTokens,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { firstText } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { Attempts } from "../history/attempts.ts";
import type { JobLookup } from "../rows/job-table.ts";
import { slotOf } from "../rows/places.ts";
import type { RequeueExpired, Runnable, RunnableScope } from "../rows/runnable.ts";
import { type Lines, reopened } from "./group-queues.ts";
import { emptyLane, type LaneState, laneStateRow } from "./group-rows.ts";
import { type ClaimableGroups, prepareOpenLines } from "./open-groups.ts";
import { type Lanes, type QueueRules, rulesOver } from "./rule-rows.ts";

/** Gives jobs that have fallen due their place in line, and opens their lines and those that waited for a moment. */
export type WakeLines = (db: SqliteConnection, lane: number, now: number) => void;

// Of each. If there are more, the next claim goes on.
const mostLines = 1_000;

const mostJobs = 1_000;

const prepareWakeLines = ({ job, lane, line, lineIndex, timedLineIndex }: Tables): WakeLines => {
  const findLines = `SELECT json_group_array(number) FROM (SELECT number FROM ${line} INDEXED BY ${timedLineIndex}
    WHERE lane = ? AND wake_at <= ? ORDER BY wake_at LIMIT ${mostLines})`;
  const later = "j.rank IS NULL";
  const rank = `UPDATE ${job} SET rank = given_priority WHERE seq IN (SELECT j.seq FROM json_each(?) AS given
    CROSS JOIN ${job} AS j INDEXED BY ${lineIndex} ON j.line = given.value
    WHERE ${later} AND j.scheduled_at <= ? LIMIT ${mostJobs})`;
  const wake = `UPDATE ${line} AS line SET ${reopened(lane, "line")}, open = 1,
      wake_at = (SELECT min(j.scheduled_at) FROM ${job} AS j INDEXED BY ${lineIndex} WHERE ${later} AND j.line = line.number)
    WHERE number IN (SELECT value FROM json_each(?))`;

  return (db, number, now) => {
    const lines = firstText(db, findLines, [number, now])!;
    if (lines === "[]") return;
    db.run(rank, [lines, now]);
    db.run(wake, [lines]);
  };
};

// Claims in a queue with groups or rules. Turns are start-time fair queueing, twice: the types of the queue take turns, and
// within a type its lines do. Who is served moves on by one turn, or by less with more weight; who opens goes on from the
// turn that was served last.

export interface TakenJob {
  readonly seq: number;
  /** Where it is counted; null for nowhere. */
  readonly slots: number | null;
}

export interface Turns {
  readonly taken: readonly TakenJob[];
  /** Counts them and moves the turns on. They must be running by then. */
  settle(): void;
}

/** Chooses up to `limit` jobs that no rule holds back. */
export type TakeInTurn = (db: SqliteConnection, scope: RunnableScope, limit: number, now: number) => Turns;

/** A queue or a type during a claim. */
interface Counting {
  readonly rule: LimitRule | undefined;
  running: number;
  added: number;
  tat: number;
  turn: number;
  served: number;
  ungroupedTurn: number;
  isUngroupedOpen: boolean;
}

interface TypeInTurn extends Counting {
  readonly typeName: string;
  readonly over: RulesOver;
  readonly lines: ClaimableGroups | undefined;
  /** The jobs that are in no line, from the last to the first. Undefined until somebody looks. */
  outside: number[] | undefined;
  /** Whether there may be others after these. */
  mayHaveMore: boolean;
}

/** The line of a type whose turn it is. */
interface Next {
  readonly type: TypeInTurn;
  readonly typeTurn: number;
  readonly lineTurn: number;
  /** Undefined for the jobs that are in no line. */
  readonly lines: ClaimableGroups | undefined;
  readonly limits: LimitValues | undefined;
}

const nothing: Turns = { taken: [], settle: () => undefined };

const count = (rule: LimitRule | undefined, state: LaneState): Counting => {
  const { running, tat, turn, served, ungroupedTurn, isUngroupedOpen } = state;
  return { rule, running, added: 0, tat, turn, served, ungroupedTurn, isUngroupedOpen };
};

/** Spends what one job costs a queue or type, and says whether it counts it. */
const spend = (counting: Counting, now: number): boolean => {
  const { rule } = counting;
  if (rule === undefined) return false;
  if (rule.rate !== null) counting.tat = spendTokens(rule.rate, counting.tat, now, 1);
  if (rule.concurrency === null) return false;
  counting.running += 1;
  counting.added += 1;
  return true;
};

export const prepareTakeInTurn = (
  tables: Tables,
  runnable: Runnable,
  lanes: Lanes,
  lines: Lines,
  requeueExpired: RequeueExpired,
  lookup: JobLookup,
  attempts: Attempts,
): TakeInTurn => {
  const { lane } = tables;
  const readStates = `SELECT ${laneStateRow.columns} FROM ${lane} WHERE queue = ?`;
  const writeState = `UPDATE ${lane} SET running = running + ?, tat = ?, turn = ?, served = ?, ungrouped_turn = ?,
    ungrouped_open = ? WHERE number = ?`;
  const claimableGroups = prepareOpenLines(tables, runnable);
  const openDueGroups = prepareWakeLines(tables);

  /** Frees the jobs and slots of expired leases together, so that whoever goes first by the rules gets the slot. */
  const putBackExpired = (db: SqliteConnection, scope: RunnableScope, now: number): void => {
    const ids = runnable.leased(db, scope, now).map(({ id }) => id);
    if (ids.length === 0) return;
    for (const expired of lookup.getJobs(db, ids)) attempts.add(db, expiredAttempt(expired!));
    lines.leave(db, ids);
    requeueExpired(db, ids);
    lines.enter(db, ids, now);
  };

  const takeFrom = (
    db: SqliteConnection,
    scope: RunnableScope,
    queueLanes: QueueRules,
    limit: number,
    now: number,
  ): Turns => {
    const { queue } = scope;
    const states = new Map(laneStateRow.all(db, readStates, [queue]).map((state) => [state.number, state]));
    const ofQueue = count(queueLanes.own.rule, states.get(queueLanes.own.number) ?? emptyLane);
    const names = scope.typeNames === null ? runnable.typesOf(db, queue) : [...new Set(scope.typeNames)];
    const types = names.map((typeName): TypeInTurn => {
      const own = queueLanes.types.get(typeName);
      const over = rulesOver(queueLanes, typeName);
      if (own !== undefined) openDueGroups(db, own.number, now);
      return {
        ...count(own?.rule, (own === undefined ? undefined : states.get(own.number)) ?? emptyLane),
        typeName,
        over,
        lines: own === undefined ? undefined : claimableGroups(db, { lane: own.number, over, limit, now }),
        outside: undefined,
        mayHaveMore: false,
      };
    });
    const taken: TakenJob[] = [];

    const findOutside = (type: TypeInTurn): number[] => {
      const wanted = limit - taken.length;
      const found = runnable.firstOutside(db, queue, type.typeName, wanted, now);
      if (!type.isUngroupedOpen) type.ungroupedTurn = Math.max(type.ungroupedTurn, type.served);
      // If these are all there are, `serve` will notice.
      type.isUngroupedOpen = found.length > 0;
      type.mayHaveMore = found.length === wanted;
      return found.map(({ seq }) => seq).reverse();
    };

    const nextOf = (type: TypeInTurn, typeTurn: number): Next | undefined => {
      type.outside ??= findOutside(type);
      const line = type.lines?.first();
      const lineTurn = type.ungroupedTurn;
      const goesInLine = line !== undefined && (type.outside.length === 0 || line.startTurn < lineTurn);
      if (goesInLine) return { type, typeTurn, lineTurn: line.turn, lines: type.lines, limits: line.limits };
      return type.outside.length === 0
        ? undefined
        : { type, typeTurn, lineTurn, lines: undefined, limits: undefined };
    };

    const findNext = (): Next | undefined => {
      let next: Next | undefined;
      for (const type of types) {
        const typeTurn = Math.max(type.turn, ofQueue.served);
        if (next !== undefined && next.typeTurn <= typeTurn) continue;
        if (findThrottleOfRule(type.rule, type, now) === null) next = nextOf(type, typeTurn) ?? next;
      }
      return next;
    };

    const serve = ({ type, typeTurn, lineTurn, lines: from, limits }: Next): void => {
      const seq = from === undefined ? type.outside!.pop()! : from.take();
      if (from === undefined) {
        type.ungroupedTurn = lineTurn + 1;
        type.isUngroupedOpen = type.outside!.length > 0 || type.mayHaveMore;
      }
      ofQueue.served = typeTurn;
      type.turn = typeTurn + 1;
      type.served = Math.max(type.served, lineTurn);
      const slots =
        ((limits?.concurrency ?? null) === null ? 0 : slotOf.line) |
        (spend(type, now) ? slotOf.type : 0) |
        (spend(ofQueue, now) ? slotOf.queue : 0);
      taken.push({ seq, slots: slots === 0 ? null : slots });
    };

    while (taken.length < limit && findThrottleOfRule(ofQueue.rule, ofQueue, now) === null) {
      const next = findNext();
      if (next === undefined) break;
      serve(next);
    }

    const write = (counting: Counting, number: number): void => {
      const { added, tat, turn, served, ungroupedTurn, isUngroupedOpen } = counting;
      db.run(writeState, [added, tat, turn, served, ungroupedTurn, Number(isUngroupedOpen), number]);
    };
    return {
      taken,
      settle: () => {
        for (const type of types) type.lines?.settle();
        if (taken.length === 0) return;
        write(ofQueue, queueLanes.own.number);
        const before = (number: number | undefined): number =>
          number === undefined ? 0 : (states.get(number)?.turn ?? 0);
        for (const type of types) {
          const own = queueLanes.types.get(type.typeName);
          if (type.turn !== before(own?.number))
            write(type, (own ?? lanes.open(db, queue, type.typeName)).number);
        }
      },
    };
  };

  return (db, scope, limit, now) => {
    const queueLanes = lanes.read(db).get(scope.queue);
    if (limit <= 0 || queueLanes === undefined || queueLanes.own.rule?.paused === true) return nothing;
    putBackExpired(db, scope, now);
    // That may have opened lanes.
    return takeFrom(db, scope, lanes.read(db).get(scope.queue) ?? queueLanes, limit, now);
  };
};
