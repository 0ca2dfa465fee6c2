import {
  agePriorityMsOf,
  findReachedLimit,
  type FlowLimits,
  type FlowRule,
  type Hold,
  type HoldReason,
  type LimitsInUse,
  nextTokenAt,
} from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import { defineRow } from "../row.ts";
import type { Tables } from "../tables.ts";
import { type QueueLanes, rulesOver } from "./lanes.ts";
import { emptyLane, laneStateRow, limitsOf, type LineState } from "./line-states.ts";
import { begunRank, rankInLine } from "./place.ts";

const mostIds = 5;

/** A pending job that is due. */
export interface HeldJob {
  /** Null for the first of its line. */
  readonly seq: number | null;
  readonly typeName: string;
  /** Null for a job that is in no line. */
  readonly line: LineState | null;
}

interface RunningJob {
  readonly id: string;
  readonly typeName: string;
  readonly group: string | null;
  readonly leasedUntil: number;
  readonly isLast: boolean;
}

/** Says what holds jobs of a queue back, all as of one moment. */
export type FindHold = (job: HeldJob) => Hold | null;

const runningRow = defineRow((columns): RunningJob => ({
  id: columns.value("id"),
  typeName: columns.value("type_name"),
  group: columns.value("group_key", null),
  leasedUntil: columns.value("leased_until"),
  isLast: columns.holds("attempt >= max_attempts"),
}));
const waitingRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  id: columns.value<string>("id"),
  at: columns.value<number>("scheduled_at"),
  isBegun: columns.holds(`coalesce(rank = ${begunRank}, 0)`),
}));

export type PrepareHolds = (db: SqliteConnection, queue: string, lanes: QueueLanes, now: number) => FindHold;

export const prepareHolds = ({ job, lane, runningIndex, lineIndex }: Tables): PrepareHolds => {
  const readStates = `SELECT ${laneStateRow.columns} FROM ${lane} WHERE queue = ?`;
  const listRunning = `SELECT ${runningRow.columns} FROM ${job} INDEXED BY ${runningIndex}
    WHERE status = 'running' AND queue = ? ORDER BY leased_until`;
  // In the order of claims, with those that have fallen due since the last one.
  const listWaiting = `SELECT ${waitingRow.columns} FROM ${job} INDEXED BY ${lineIndex}
    WHERE line = ? AND (rank = ${begunRank} OR scheduled_at <= ?)
    ORDER BY coalesce(rank, ${rankInLine}) DESC, scheduled_at, seq LIMIT ?`;

  return (db, queue, lanes, now) => {
    const states = new Map(laneStateRow.all(db, readStates, [queue]).map((state) => [state.number, state]));
    let read: readonly RunningJob[] | undefined;
    const running = (): readonly RunningJob[] => (read ??= runningRow.all(db, listRunning, [queue]));
    /** Whether a claim would put it back, because its lease has expired. */
    const isFree = ({ leasedUntil, isLast }: RunningJob): boolean => leasedUntil <= now && !isLast;

    const hold = (by: HoldReason, scope: Partial<Hold>, details: Partial<Hold> = {}): Hold => ({
      by,
      queue,
      typeName: null,
      group: null,
      limit: null,
      inUse: null,
      opensAt: null,
      jobIds: [],
      ...scope,
      ...details,
    });
    const idsOf = (jobs: readonly { readonly id: string }[]): string[] =>
      jobs.slice(0, mostIds).map(({ id }) => id);

    const byLimits = (
      limits: FlowLimits,
      use: LimitsInUse,
      scope: Partial<Hold>,
      isIn: (each: RunningJob) => boolean,
    ): Hold | null => {
      if (findReachedLimit(limits, use, now) === "concurrency") {
        const holders = running().filter((each) => isIn(each) && !isFree(each));
        const { concurrency: limit } = limits;
        if (holders.length >= limit!)
          return hold("concurrency", scope, { limit, inUse: holders.length, jobIds: idsOf(holders) });
      }
      // Slots whose leases have expired come free with the next claim; that leaves the rate.
      const { rate } = limits;
      if (rate === null || findReachedLimit({ concurrency: null, rate }, use, now) === null) return null;
      return hold("rate", scope, { limit: rate.limit, opensAt: nextTokenAt(rate, use.tat, now) });
    };

    const byRule = (
      rule: FlowRule | undefined,
      number: number | undefined,
      scope: Partial<Hold>,
      isIn: (each: RunningJob) => boolean,
    ): Hold | null => {
      if (rule === undefined) return null;
      const use = (number === undefined ? undefined : states.get(number)) ?? emptyLane;
      return rule.paused ? hold("paused", scope) : byLimits(rule, use, scope, isIn);
    };

    /** The jobs of an ordered line that this one waits for. */
    const byOrder = ({ seq, typeName }: HeldJob, line: LineState, scope: Partial<Hold>): Hold | null => {
      const age = agePriorityMsOf(rulesOver(lanes, typeName));
      const limit = seq === null ? mostIds + 1 : -1;
      const waiting = waitingRow.all(db, listWaiting, [line.number, now, age, age, limit]);
      const place = waiting.findIndex((each) => (seq === null ? each.at <= now : each.seq === seq));
      const own = waiting[place];
      // Once put back, it has begun; and so goes first, unless this one began before.
      const ahead = running().filter(
        (each) =>
          each.typeName === typeName &&
          each.group === line.group &&
          (!isFree(each) || own?.isBegun !== true || each.leasedUntil < own.at),
      );
      const before = place < 0 ? waiting : waiting.slice(0, place);
      if (ahead.length + before.length === 0) return null;
      const [first] = before;
      const opensAt = ahead.length === 0 && first !== undefined && first.at > now ? first.at : null;
      return hold("order", scope, { opensAt, jobIds: idsOf([...ahead, ...before]) });
    };

    return (held) => {
      const { typeName, line } = held;
      const lane = lanes.types.get(typeName);
      const over = rulesOver(lanes, typeName);
      const isOfType = (each: RunningJob): boolean => each.typeName === typeName;
      const outer =
        byRule(lanes.own.rule, lanes.own.number, {}, () => true) ??
        byRule(lane?.rule, lane?.number, { typeName }, isOfType);
      if (outer !== null || line === null || line.group === "") return outer;
      const { group, stoppedBy } = line;
      const scope = { typeName, group };
      if (stoppedBy !== null) return hold("stopped", scope, { jobIds: [stoppedBy] });
      return (
        (line.isOrdered ? byOrder(held, line, scope) : null) ??
        byLimits(limitsOf(over, line), line, scope, (each) => isOfType(each) && each.group === group)
      );
    };
  };
};
