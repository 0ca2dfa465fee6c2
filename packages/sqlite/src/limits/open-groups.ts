import {
  findReachedLimit,
  type LimitValues,
  limitsOfGroup,
  nextTokenAt,
  type RulesOver,
  spendTokens,
  tokensLeft,
  weightOfGroup,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { JobInLine, Runnable } from "../rows/runnable.ts";
import { describeLine, earlier, limitsOf, type LineState } from "./group-rows.ts";

/** A line with jobs that a claim may take. */
export interface OpenLine {
  readonly limits: LimitValues;
  /** At which its portion began. */
  readonly startTurn: number;
  /** Of its first job. */
  readonly turn: number;
}

/** The open lines of a type during one claim, by turn. Nothing is written until `settle`. */
export interface ClaimableGroups {
  /** The line whose turn it is. */
  first(): OpenLine | undefined;
  /** Takes the first job of that line. */
  take(): number;
  /** Writes what has changed. The jobs that were taken must be running by then. */
  settle(): void;
}

export interface OpenLinesOptions {
  readonly lane: number;
  readonly over: RulesOver;
  /** How many jobs the claim takes at most. */
  readonly limit: number;
  readonly now: number;
}

interface Visited extends OpenLine {
  readonly state: LineState;
  readonly weight: number;
  startTurn: number;
  turn: number;
  tat: number;
  wakeAt: number | null;
  isOpen: boolean;
  /** Closed because nothing is due in it. */
  isEmpty: boolean;
  jobs: readonly JobInLine[];
  hasMore: boolean;
  /** How many of these were taken, and how many in all. */
  next: number;
  taken: number;
}

const openRow = defineRow(describeLine);
// A claim takes several jobs of a line at once, so that it has fewer lines to write: a sixteenth of it, or its share where
// there are fewer lines.
const mostPortions = 16;

const smallestPage = 8;

const largestPage = 500;

const byTurn = (a: Visited, b: Visited): number =>
  a.startTurn - b.startTurn || a.state.number - b.state.number;

export type PrepareOpenLines = (db: SqliteConnection, options: OpenLinesOptions) => ClaimableGroups;

export const prepareOpenLines = (tables: Tables, runnable: Runnable): PrepareOpenLines => {
  const { job, line, lineIndex, openLineIndex } = tables;
  const list = `SELECT ${openRow.text} FROM (SELECT * FROM ${line} INDEXED BY ${openLineIndex}
    WHERE lane = ? AND open = 1 AND (turn, number) > (?, ?) ORDER BY turn, number LIMIT ?)`;
  // A line in which nothing is due may have jobs nevertheless, if the clock was turned back.
  const write = `UPDATE ${line} AS line SET running = running + (given.value ->> 1), tat = given.value ->> 2,
      turn = given.value ->> 3, open = given.value ->> 4,
      wake_at = CASE WHEN given.value ->> 6 THEN (SELECT min(at) FROM (SELECT given.value ->> 5 AS at UNION ALL
          SELECT j.scheduled_at FROM ${job} AS j INDEXED BY ${lineIndex}
          WHERE j.line = line.number AND j.rank IS NOT NULL))
        ELSE given.value ->> 5 END
    FROM json_each(?) AS given WHERE line.number = given.value ->> 0`;

  return (db, { lane, over, limit, now }) => {
    const visited: Visited[] = [];
    // Those that have jobs, from the last to the first.
    let waiting: Visited[] = [];
    let last: LineState | undefined;
    let isAllLoaded = false;
    let left = limit;
    let portion = Math.ceil(limit / mostPortions);
    // With a limit of its own, a line gives no more than that.
    const mostOfLine = Math.min(
      portion,
      limitsOfGroup(over, { group: "any", ordered: null }).concurrency ?? portion,
    );

    const room = ({ limits, state, tat, taken }: Visited): number =>
      Math.min(
        limits.concurrency === null ? left : limits.concurrency - state.running - taken,
        limits.rate === null ? left : tokensLeft(limits.rate, tat, now),
        left,
      );

    const close = (closed: Visited, wakeAt: number | null, isEmpty = false): void => {
      closed.isOpen = false;
      closed.isEmpty = isEmpty;
      closed.wakeAt = earlier(closed.wakeAt, wakeAt);
    };

    /** Closes a line whose limits are reached. */
    const closeIfHeld = (each: Visited): boolean => {
      const { limits, state, tat, taken } = each;
      if (state.stoppedBy !== null) {
        close(each, null);
        return true;
      }
      const reached = findReachedLimit(limits, { running: state.running + taken, tat }, now);
      if (reached === null) return false;
      close(each, reached === "rate" ? nextTokenAt(limits.rate!, tat, now) : null);
      return true;
    };

    /** Looks for the next jobs of these lines, and closes those in which nothing is due. */
    const fetchJobs = (lines: readonly Visited[], skip: number): void => {
      const most = lines.reduce((sum, each) => Math.max(sum, Math.min(room(each), portion + 1)), 0);
      const found = runnable.firstInLines(
        db,
        lines.map(({ state }) => state.number),
        most,
        skip,
        now,
      );
      for (const [index, each] of lines.entries()) {
        each.jobs = found[index]!;
        each.next = 0;
        each.hasMore = each.jobs.length === most;
        const [head] = each.jobs;
        if (head === undefined) close(each, null, true);
        else if (head.at > now) close(each, head.at);
      }
    };

    const insert = (each: Visited): void => {
      let [low, high] = [0, waiting.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (byTurn(waiting[middle]!, each) > 0) low = middle + 1;
        else high = middle;
      }
      waiting.splice(low, 0, each);
    };

    const load = (): void => {
      const size = Math.min(Math.max(Math.ceil(left / mostOfLine), smallestPage), largestPage);
      const page = openRow.allOfText(db, list, [lane, last?.turn ?? -1, last?.number ?? -1, size]);
      last = page.at(-1) ?? last;
      isAllLoaded = page.length < size;
      const found = page.map((state): Visited => {
        const group = state.group === "" ? null : state.group;
        const { turn, tat, wakeAt } = state;
        return {
          state,
          startTurn: turn,
          turn,
          tat,
          wakeAt,
          limits: limitsOf(over, state),
          weight: weightOfGroup(over, group),
          isOpen: true,
          isEmpty: false,
          jobs: [],
          hasMore: false,
          next: 0,
          taken: 0,
        };
      });
      visited.push(...found);
      const open = found.filter((each) => !closeIfHeld(each));
      if (waiting.length + open.length < mostPortions)
        portion = Math.max(portion, Math.ceil(left / (waiting.length + open.length || 1)));
      if (open.length > 0) fetchJobs(open, 0);
      waiting = [...waiting, ...open.filter(({ isOpen }) => isOpen)].sort((a, b) => byTurn(b, a));
    };

    /** Whether lines that are not loaded yet may come before those that are. */
    const mayComeFirst = (each: Visited | undefined): boolean =>
      !isAllLoaded && (each === undefined || last === undefined || each.startTurn > last.turn);

    const first = (): Visited | undefined => {
      while (mayComeFirst(waiting.at(-1))) load();
      return waiting.at(-1);
    };

    return {
      first,
      take: () => {
        const each = waiting.pop()!;
        const { seq } = each.jobs[each.next]!;
        each.next += 1;
        each.taken += 1;
        left -= 1;
        each.turn += 1 / each.weight;
        if (each.limits.rate !== null) each.tat = spendTokens(each.limits.rate, each.tat, now, 1);
        if (closeIfHeld(each)) return seq;
        if (each.next === each.jobs.length) {
          if (each.hasMore && left > 0) fetchJobs([each], each.taken);
          else if (!each.hasMore) close(each, null, true);
        }
        if (!each.isOpen) return seq;
        if (each.taken % portion > 0) waiting.push(each);
        else {
          each.startTurn = each.turn;
          insert(each);
        }
        return seq;
      },
      settle: () => {
        const changed = visited.filter(({ isOpen, taken }) => !isOpen || taken > 0);
        if (changed.length === 0) return;
        const rows = changed.map(({ state, taken, tat, turn, isOpen, wakeAt, isEmpty, limits }) => {
          const counted = limits.concurrency === null ? 0 : taken;
          return [state.number, counted, tat, turn, Number(isOpen), wakeAt, Number(isEmpty)];
        });
        db.run(write, [JSON.stringify(rows)]);
      },
    };
  };
};
