import {
  type GroupState,
  limitsClaimableAt,
  type LimitsInUse,
  newScopeState,
  ruleClaimableAt,
  type RulesOver,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { defineRow, firstNumber } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { begunRank, type Ranked, rankOf, slotOf } from "../rows/places.ts";
import type { LeasedJob, Runnable, RunnableScope } from "../rows/runnable.ts";
import { groupRow, limitsOf, ruleStateRow } from "./group-rows.ts";
import { type QueueRules, rulesOver } from "./rule-rows.ts";

/** A pending job in a line. */
export interface PlaceInLine extends Ranked {
  readonly queue: string;
  readonly typeName: string;
  readonly line: number;
  readonly seq: number;
}

/** How many jobs of its line go before this one, at the moment when it falls due; `cap` for as many or more. */
export type CountInLine = (db: SqliteConnection, place: PlaceInLine, cap: number, now: number) => number;

const expiredRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  priority: columns.value<number>("coalesce(given_priority, priority)"),
  scheduledAt: columns.value<number>("leased_until"),
  leaseVersion: columns.value<number>("lease_version"),
  ordered: columns.value<string | null>("ordered", null),
}));

export const prepareCountInLine = ({ job, lineIndex, runningIndex }: Tables): CountInLine => {
  const rank = `coalesce(rank, given_priority)`;
  const countPending = `SELECT count(*) FROM (
    SELECT 1 FROM (SELECT ${rank} AS place, scheduled_at, seq FROM ${job} INDEXED BY ${lineIndex}
      WHERE line = ? AND (rank = ${begunRank} OR scheduled_at <= ?))
    WHERE (-place, scheduled_at, seq) < (-?, ?, ?) LIMIT ?)`;
  const listExpired = `SELECT ${expiredRow.columns} FROM ${job} INDEXED BY ${runningIndex} WHERE status = 'running'
    AND leased_until <= ? AND attempt < max_attempts AND queue = ? AND type_name = ? AND group_key IS ?`;

  return (db, place, cap, now) => {
    const { queue, typeName, group, line, seq, scheduledAt } = place;
    const moment = Math.max(now, scheduledAt);
    const own = rankOf(place, moment)!;
    const pending = firstNumber(db, countPending, [line, moment, own, scheduledAt, seq, cap]) ?? 0;
    const expired = expiredRow.all(db, listExpired, [now, queue, typeName, group]).filter((other) => {
      const rank = rankOf({ ...other, group }, moment)!;
      const isSooner =
        other.scheduledAt < scheduledAt || (other.scheduledAt === scheduledAt && other.seq < seq);
      return rank > own || (rank === own && isSooner);
    });
    return Math.min(cap, pending + expired.length);
  };
};

const never = Number.POSITIVE_INFINITY;

const pageSize = 100;

/** When these leases end, and their jobs and slots come free. */
const endsOf = (leased: readonly LeasedJob[], slot: number) => (): number[] =>
  leased.filter(({ slots }) => (slots & slot) > 0).map(({ leasedUntil }) => leasedUntil);

/** The first moment from `now` on at which a claim finds a job in a queue with rules or groups; infinity for none in sight. */
export type NextInLineAt = (
  db: SqliteConnection,
  scope: RunnableScope,
  lanes: QueueRules,
  now: number,
) => number;

export const prepareNextInLineAt = (tables: Tables, runnable: Runnable): NextInLineAt => {
  const { lane, line, openLineIndex, timedLineIndex } = tables;
  const readStates = `SELECT ${ruleStateRow.columns} FROM ${lane} WHERE queue = ?`;
  const listOpen = `SELECT ${groupRow.columns} FROM ${line} INDEXED BY ${openLineIndex}
    WHERE lane = ? AND open = 1 AND (turn, number) > (?, ?) ORDER BY turn, number LIMIT ${pageSize}`;
  const listTimed = `SELECT ${groupRow.columns} FROM ${line} INDEXED BY ${timedLineIndex}
    WHERE lane = ? AND wake_at IS NOT NULL AND (wake_at, number) > (?, ?) ORDER BY wake_at, number LIMIT ${pageSize}`;
  const findLine = `SELECT ${groupRow.columns} FROM ${line} WHERE lane = ? AND group_key = ?`;

  const lineOpensAt = (
    db: SqliteConnection,
    state: GroupState,
    over: RulesOver,
    leased: readonly LeasedJob[],
    now: number,
  ): number => {
    if (state.stoppedBy !== null) return never;
    const ofLine = leased.filter(({ group }) => (group ?? "") === state.group);
    const dueAt = Math.min(runnable.dueInLine(db, state.key, now) ?? never, ofLine[0]?.leasedUntil ?? never);
    return Math.max(dueAt, limitsClaimableAt(limitsOf(over, state), state, endsOf(ofLine, slotOf.line), now));
  };

  /** The first moment at which a line of a type is open. */
  const linesOpenAt = (
    db: SqliteConnection,
    number: number,
    over: RulesOver,
    leased: readonly LeasedJob[],
    now: number,
  ): number => {
    const claimableAt = (state: GroupState): number => lineOpensAt(db, state, over, leased, now);
    let first = never;
    // The groups of jobs that run. Where none is counted, there need be no line: then its job is all that it has.
    for (const group of new Set(leased.map((each) => each.group))) {
      if (group === null) continue;
      const state = groupRow.first(db, findLine, [number, group]);
      const end = leased.find((each) => each.group === group)!.leasedUntil;
      first = Math.min(first, state === undefined ? end : claimableAt(state));
    }
    let last: GroupState | undefined;
    do {
      const page = groupRow.all(db, listOpen, [number, last?.virtualTime ?? -1, last?.key ?? -1]);
      for (const state of page) {
        first = Math.min(first, claimableAt(state));
        if (first <= now) return now;
      }
      last = page.length < pageSize ? undefined : page.at(-1);
    } while (last !== undefined);
    // No line opens before the moment that it waits for, so the search ends at the first that is later than what was found.
    do {
      const page = groupRow.all(db, listTimed, [number, last?.claimableAt ?? -1, last?.key ?? -1]);
      for (const state of page) {
        if (state.claimableAt! >= first) return first;
        first = Math.min(first, claimableAt(state));
        if (first <= now) return now;
      }
      last = page.length < pageSize ? undefined : page.at(-1);
    } while (last !== undefined);
    return first;
  };

  return (db, scope, lanes, now) => {
    const { queue, typeNames } = scope;
    const states = new Map(ruleStateRow.all(db, readStates, [queue]).map((state) => [state.number, state]));
    const stateOf = (number: number | undefined): LimitsInUse =>
      (number === undefined ? undefined : states.get(number)) ?? newScopeState;
    const leased = runnable.leased(db, scope);
    const { own } = lanes;
    const queueOpensAt = ruleClaimableAt(own.rule, stateOf(own.number), endsOf(leased, slotOf.queue), now);
    if (queueOpensAt === never) return never;

    const typeOpensAt = (typeName: string): number => {
      const lane = lanes.types.get(typeName);
      const ofType = leased.filter((each) => each.typeName === typeName);
      const byRule = ruleClaimableAt(lane?.rule, stateOf(lane?.number), endsOf(ofType, slotOf.type), now);
      if (byRule === never) return never;
      const outside = ofType.find(({ group }) => group === null)?.leasedUntil ?? never;
      const first = Math.min(outside, runnable.nextAtOutside(db, queue, typeName) ?? never);
      if (first <= now || lane === undefined) return Math.max(first, byRule);
      const over = rulesOver(lanes, typeName);
      return Math.max(Math.min(first, linesOpenAt(db, lane.number, over, ofType, now)), byRule);
    };
    const types = typeNames ?? [...runnable.typesOf(db, queue), ...leased.map(({ typeName }) => typeName)];
    const claimableAt = [...new Set(types)].map(typeOpensAt);
    return Math.max(queueOpensAt, Math.min(never, ...claimableAt));
  };
};
