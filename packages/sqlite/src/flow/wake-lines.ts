import type { SqliteConnection } from "../connection/connection.ts";
import { firstText } from "../row.ts";
import type { Tables } from "../tables.ts";
import { reopened } from "./lines.ts";
import { rankInLine } from "./place.ts";

/** Gives jobs that have fallen due their place in line, and opens their lines and those that waited for a moment. */
export type WakeLines = (
  db: SqliteConnection,
  lane: number,
  agePriorityMs: number | null,
  now: number,
) => void;

// Of each. If there are more, the next claim goes on.
const mostLines = 1_000;
const mostJobs = 1_000;

export const prepareWakeLines = ({ job, lane, line, lineIndex, timedLineIndex }: Tables): WakeLines => {
  const findLines = `SELECT json_group_array(number) FROM (SELECT number FROM ${line} INDEXED BY ${timedLineIndex}
    WHERE lane = ? AND wake_at <= ? ORDER BY wake_at LIMIT ${mostLines})`;
  const later = "j.rank IS NULL";
  const rank = `UPDATE ${job} SET rank = ${rankInLine} WHERE seq IN (SELECT j.seq FROM json_each(?) AS given
    CROSS JOIN ${job} AS j INDEXED BY ${lineIndex} ON j.line = given.value
    WHERE ${later} AND j.scheduled_at <= ? LIMIT ${mostJobs})`;
  const wake = `UPDATE ${line} AS line SET ${reopened(lane, "line")}, open = 1,
      wake_at = (SELECT min(j.scheduled_at) FROM ${job} AS j INDEXED BY ${lineIndex} WHERE ${later} AND j.line = line.number)
    WHERE number IN (SELECT value FROM json_each(?))`;

  return (db, number, age, now) => {
    const lines = firstText(db, findLines, [number, now])!;
    if (lines === "[]") return;
    db.run(rank, [age, age, lines, now]);
    db.run(wake, [lines]);
  };
};
