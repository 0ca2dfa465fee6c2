import type { SqliteConnection } from "../database/connection.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

/** Deletes group queues that are as good as new, a page of them with each call. */
export type TidyLines = (db: SqliteConnection, now: number) => void;

const mostLines = 2_000;

const linesRow = defineRow((columns) => ({
  count: columns.value<number>("count(*)"),
  last: columns.value<number | null>("max(number)", null),
}));

export const prepareTidyLines = ({ job, lane, line, lineIndex }: Tables): TidyLines => {
  const findPage = `SELECT ${linesRow.columns} FROM (SELECT number FROM ${line} WHERE number > ? ORDER BY number LIMIT ${mostLines})`;
  // As good as new: nothing waits in it or is counted, and it would get its turn and its tokens at once.
  const forget = `DELETE FROM ${line} AS line WHERE number > ? AND number <= ? AND open = 0 AND running = 0
    AND stopped_by IS NULL AND wake_at IS NULL AND tat <= ?
    AND turn <= (SELECT served FROM ${lane} AS l WHERE l.number = line.lane)
    AND NOT EXISTS (SELECT 1 FROM ${job} AS j INDEXED BY ${lineIndex} WHERE j.line = line.number)`;
  let lookedAt = 0;

  return (db, now) => {
    const { count, last } = linesRow.first(db, findPage, [lookedAt])!;
    if (last !== null) db.run(forget, [lookedAt, last, now * 1_000]);
    lookedAt = count < mostLines ? 0 : (last ?? 0);
  };
};
