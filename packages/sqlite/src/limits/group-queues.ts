import type { StateJob } from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { allTexts, defineRow, firstNumber } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { countingLine, inLine, type Ranked, rankOf, slotOf, slotsPerLine } from "../rows/places.ts";
import type { Lanes } from "./rule-rows.ts";

type NamedJob = Ranked & Pick<StateJob, "queue" | "typeName">;

/** What a running job gives back when it no longer runs. */
export interface CountedJob {
  readonly queue: string;
  readonly typeName: string;
  readonly line: number | null;
  readonly slots: number;
}

/** Where jobs that are alike wait. */
export interface Places {
  readonly rank: number | null;
  /** The line of each. */
  readonly lines: readonly number[];
}

/**
 * Lines as jobs come and go. Whoever changes the status of a job calls `leave` before and, if it waits again, `enter` after.
 * Claims, and completions in bulk, do the same in fewer statements.
 */
export interface Lines {
  /** Whether any queue has rules or groups. Where none has, there is nothing to leave or to enter. */
  areUsed(db: SqliteConnection): boolean;
  /** Opens lines for jobs that are about to be stored, alike in all but their groups. Undefined when they wait in none. */
  placeNew(db: SqliteConnection, jobs: readonly StateJob[], now: number): Places | undefined;
  /** Those of these jobs that are pending wait in their lines from now on. */
  enter(db: SqliteConnection, jobIds: readonly string[], now: number): void;
  /** These jobs no longer wait or run: takes them out of their lines, and gives their slots back. */
  leave(db: SqliteConnection, jobIds: readonly string[]): void;
  giveBack(db: SqliteConnection, jobs: readonly CountedJob[]): void;
  /** A job has failed for good: stops its group, if that is what its group does. */
  stop(db: SqliteConnection, job: Pick<StateJob, "id" | "queue" | "typeName" | "group" | "ordered">): void;
  /** Lets a group go on. With `jobId` only if it was stopped by this job. */
  resume(
    db: SqliteConnection,
    group: Pick<StateJob, "queue" | "typeName" | "group">,
    jobId: string | null,
  ): boolean;
}

const enteringRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  group: columns.value<string | null>("group_key", null),
  ordered: columns.value<string | null>("ordered", null),
  priority: columns.value<number>("coalesce(given_priority, priority)"),
  scheduledAt: columns.value<number>("scheduled_at"),
  leaseVersion: columns.value<number>("lease_version"),
}));

const leavingRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  line: columns.value<number | null>(`coalesce(line, ${countingLine("slots")})`, null),
  slots: columns.value<number>("coalesce(slots, 0)"),
}));

const numberRow = defineRow((columns) => ({
  number: columns.value<number>("number"),
  group: columns.value<string>("group_key"),
}));

/** Something has changed: whoever finds the line closed puts it where the others are now, without credit. */
export const reopened = (lane: string, line: string): string =>
  `turn = CASE WHEN open THEN turn ELSE max(turn, (SELECT served FROM ${lane} AS l WHERE l.number = ${line}.lane)) END`;

export const createLines = (tables: Tables, lanes: Lanes): Lines => {
  const { job, lane, line, lineIndex, runningIndex } = tables;
  const given = "FROM json_each(?) AS given";
  const findEntering = `SELECT ${enteringRow.columns} FROM ${job}
    WHERE id IN (SELECT value ${given}) AND status = 'pending'`;
  const findLeaving = `SELECT ${leavingRow.columns} FROM ${job}
    WHERE id IN (SELECT value ${given}) AND (line IS NOT NULL OR slots IS NOT NULL)`;
  const takeOut = `UPDATE ${job} SET line = NULL, slots = NULL WHERE seq IN (SELECT value ${given})`;
  const putInLine = `UPDATE ${job} SET line = ?, rank = ?, given_priority = ?, priority = ${inLine} WHERE seq = ?`;
  // Jobs that have nothing to do with lines any more.
  const putBack = `UPDATE ${job} SET priority = given_priority, given_priority = NULL, rank = NULL
    WHERE seq = ? AND given_priority IS NOT NULL`;
  const claimableGroups = `INSERT INTO ${line} AS line (lane, group_key, ordered, open, wake_at, turn)
    SELECT ?, given.value, ?, ? IS NULL, ?, (SELECT served FROM ${lane} WHERE number = ?)
    FROM json_each(?) AS given WHERE true
    ON CONFLICT (lane, group_key) DO UPDATE SET
      turn = CASE WHEN open OR NOT excluded.open THEN turn ELSE max(turn, excluded.turn) END,
      open = max(open, excluded.open), ordered = max(ordered, excluded.ordered),
      wake_at = min(coalesce(wake_at, excluded.wake_at), coalesce(excluded.wake_at, wake_at))
    RETURNING ${numberRow.columns}`;
  const findUnordered = `SELECT value ${given} CROSS JOIN ${line} AS line
    ON line.lane = ? AND line.group_key = given.value WHERE NOT line.ordered`;
  const freeLines = `UPDATE ${line} AS line SET running = running - (given.value ->> 1), ${reopened(lane, "line")},
      open = open OR EXISTS (SELECT 1 FROM ${job} AS j INDEXED BY ${lineIndex}
        WHERE j.line = line.number AND j.rank IS NOT NULL)
    ${given} WHERE line.number = given.value ->> 0`;
  const freeLane = `UPDATE ${lane} SET running = running - ? WHERE queue = ? AND type_name = ?`;
  const countRunning = `UPDATE ${job} INDEXED BY ${runningIndex} SET slots = coalesce(slots, 0) + ${slotOf.line} + ${slotsPerLine} * ?
    WHERE status = 'running' AND queue = ? AND type_name = ? AND group_key = ? AND NOT coalesce(slots, 0) & ${slotOf.line}`;
  const addRunning = `UPDATE ${line} SET running = running + ? WHERE lane = ? AND group_key = ?`;
  const stop = `UPDATE ${line} SET stopped_by = ? WHERE lane = ? AND group_key = ?`;
  const resume = `UPDATE ${line} AS line SET stopped_by = NULL, ${reopened(lane, "line")}, open = 1
    WHERE lane = ? AND group_key = ? AND stopped_by = coalesce(?, stopped_by)`;
  const findLine = `SELECT number FROM ${line} WHERE lane = ? AND group_key = ?`;

  /** Lines of groups that were not ordered so far count the jobs that run, now that one has come that waits for them. */
  const makeOrdered = (db: SqliteConnection, { queue, typeName }: NamedJob, groups: string): void => {
    const { number } = lanes.open(db, queue, typeName);
    for (const group of allTexts(db, findUnordered, [groups, number])) {
      const found = firstNumber(db, findLine, [number, group])!;
      const counted = db.run(countRunning, [found, queue, typeName, group]);
      if (counted > 0) db.run(addRunning, [counted, number, group]);
    }
  };

  /** Opens the lines of these groups, for jobs that are like the one given otherwise. */
  const open = (
    db: SqliteConnection,
    example: NamedJob,
    groups: readonly string[],
    now: number,
  ): Map<string, number> => {
    const { number } = lanes.open(db, example.queue, example.typeName);
    const text = JSON.stringify([...new Set(groups)]);
    const isOrdered = example.ordered !== null;
    if (isOrdered) makeOrdered(db, example, text);
    const wakeAt = example.scheduledAt > now ? example.scheduledAt : null;
    const found = numberRow.all(db, claimableGroups, [
      number,
      Number(isOrdered),
      wakeAt,
      wakeAt,
      number,
      text,
    ]);
    return new Map(found.map((row) => [row.group, row.number]));
  };

  const giveBack: Lines["giveBack"] = (db, jobs) => {
    const byLine = new Map<number, number>();
    const byLane = new Map<string, { queue: string; typeName: string; count: number }>();
    const addToLane = (queue: string, typeName: string): void => {
      const key = JSON.stringify([queue, typeName]);
      const counting = byLane.get(key) ?? { queue, typeName, count: 0 };
      counting.count += 1;
      byLane.set(key, counting);
    };
    for (const { queue, typeName, line: number, slots } of jobs) {
      if (number !== null) byLine.set(number, (byLine.get(number) ?? 0) + (slots & slotOf.line ? 1 : 0));
      if (slots & slotOf.type) addToLane(queue, typeName);
      if (slots & slotOf.queue) addToLane(queue, "");
    }
    if (byLine.size > 0) db.run(freeLines, [JSON.stringify([...byLine])]);
    for (const { queue, typeName, count } of byLane.values()) db.run(freeLane, [count, queue, typeName]);
  };

  return {
    areUsed: (db) => lanes.read(db).size > 0,
    placeNew: (db, jobs, now) => {
      const [example] = jobs;
      if (example === undefined) return undefined;
      if (example.group === null) return undefined;
      if (example.status !== "pending") {
        // From here on its queue is one with groups, so that it is seen to when it is unblocked.
        lanes.open(db, example.queue, example.typeName);
        return undefined;
      }
      const groups = jobs.map(({ group }) => group ?? "");
      const numbers = open(db, example, groups, now);
      return { rank: rankOf(example, now), lines: groups.map((group) => numbers.get(group)!) };
    },
    enter: (db, jobIds, now) => {
      for (const entering of enteringRow.all(db, findEntering, [JSON.stringify(jobIds)])) {
        if (entering.group === null) {
          db.run(putBack, [entering.seq]);
          continue;
        }
        const { group, priority, seq } = entering;
        const number = open(db, entering, [group], now).get(group)!;
        db.run(putInLine, [number, rankOf(entering, now), priority, seq]);
      }
    },
    leave: (db, jobIds) => {
      const leaving = leavingRow.all(db, findLeaving, [JSON.stringify(jobIds)]);
      if (leaving.length === 0) return;
      db.run(takeOut, [JSON.stringify(leaving.map(({ seq }) => seq))]);
      giveBack(db, leaving);
    },
    giveBack,
    stop: (db, { id, queue, typeName, group, ordered }) => {
      if (ordered !== "stop" || group === null) return;
      const { number } = lanes.open(db, queue, typeName);
      // It may be the first of its group that is heard of.
      db.query(claimableGroups, [number, 1, null, null, number, JSON.stringify([group])]);
      db.run(stop, [id, number, group]);
    },
    resume: (db, { queue, typeName, group }, jobId) => {
      const found = lanes.read(db).get(queue)?.types.get(typeName);
      return found !== undefined && group !== null && db.run(resume, [found.number, group, jobId]) > 0;
    },
  };
};
