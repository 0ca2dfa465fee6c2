import { agePriorityMsOf } from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { allTexts, defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { begunRank, inLine, rankInLine } from "../rows/places.ts";
import type { Lines } from "./group-queues.ts";
import { type Lane, type Lanes, rulesOver } from "./rule-rows.ts";

/** What can wait, a part with each call: jobs that wait elsewhere than a new rule says, and lines that nobody needs. */
export type TidyLines = (db: SqliteConnection, now: number) => void;

const mostJobs = 1_000;

const mostLines = 2_000;

/** How far a type has got. */
interface Position {
  readonly at: number;
  readonly seq: number;
}

const rerankRow = defineRow((columns) => ({
  number: columns.value<number>("number"),
  at: columns.value<number>("rerank_at"),
  seq: columns.value<number>("rerank_seq"),
}));

const linesRow = defineRow((columns) => ({
  count: columns.value<number>("count(*)"),
  last: columns.value<number | null>("max(number)", null),
}));

const pageRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  at: columns.value<number>("scheduled_at"),
}));

export const prepareTidyLines = (tables: Tables, lanes: Lanes, lines: Lines): TidyLines => {
  const { job, lane, line, lineIndex, pendingIndex } = tables;
  const ofType = `FROM ${job} INDEXED BY ${pendingIndex} WHERE status = 'pending' AND queue = ? AND type_name = ?`;
  const findLanes = `SELECT ${rerankRow.columns} FROM ${lane} WHERE rerank_at IS NOT NULL`;
  const findOutside = `SELECT id ${ofType} AND priority > ${inLine} LIMIT ${mostJobs}`;
  const findInside = `SELECT ${pageRow.columns} ${ofType} AND priority = ${inLine}
    AND (scheduled_at, seq) > (?, ?) ORDER BY scheduled_at, seq LIMIT ${mostJobs}`;
  const rerank = `UPDATE ${job} SET rank = ${rankInLine}
    WHERE seq IN (SELECT value FROM json_each(?)) AND rank IS NOT NULL AND rank <> ${begunRank}`;
  const goOn = `UPDATE ${lane} SET rerank_at = ?, rerank_seq = ? WHERE number = ?`;

  const findPage = `SELECT ${linesRow.columns} FROM (SELECT number FROM ${line} WHERE number > ? ORDER BY number LIMIT ${mostLines})`;
  // As good as new: nothing waits in it or is counted, and it would get its turn and its tokens at once.
  const forget = `DELETE FROM ${line} AS line WHERE number > ? AND number <= ? AND open = 0 AND running = 0
    AND stopped_by IS NULL AND wake_at IS NULL AND tat <= ?
    AND turn <= (SELECT served FROM ${lane} AS l WHERE l.number = line.lane)
    AND NOT EXISTS (SELECT 1 FROM ${job} AS j INDEXED BY ${lineIndex} WHERE j.line = line.number)`;
  let lookedAt = 0;

  const rerankIn = (
    db: SqliteConnection,
    { queue, typeName, number }: Lane,
    from: Position,
    now: number,
  ): void => {
    const age = agePriorityMsOf(rulesOver(lanes.read(db).get(queue), typeName ?? ""));
    // Without ageing, those that are in no line are right there.
    const outside = age === null ? [] : allTexts(db, findOutside, [queue, typeName]);
    if (outside.length > 0) {
      lines.enter(db, outside, now);
      if (outside.length === mostJobs) return;
    }
    const page = pageRow.all(db, findInside, [queue, typeName, from.at, from.seq]);
    if (page.length > 0) db.run(rerank, [age, age, JSON.stringify(page.map(({ seq }) => seq))]);
    const last = page.length < mostJobs ? undefined : page.at(-1);
    db.run(goOn, [last?.at ?? null, last?.seq ?? null, number]);
  };

  return (db, now) => {
    for (const { number, at, seq } of rerankRow.all(db, findLanes, [])) {
      for (const each of lanes.read(db).all())
        if (each.number === number && each.typeName !== null) rerankIn(db, each, { at, seq }, now);
    }
    const { count, last } = linesRow.first(db, findPage, [lookedAt])!;
    if (last !== null) db.run(forget, [lookedAt, last, now * 1_000]);
    lookedAt = count < mostLines ? 0 : (last ?? 0);
  };
};
