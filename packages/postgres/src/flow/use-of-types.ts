import { findHoldOfRule, type HoldReason, type LimitsInUse, type RulesOver } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { arrayLiteral } from "../sql/array-literal.ts";
import { text } from "../sql/row-values.ts";
import type { Tables } from "../tables.ts";

export interface TypeUse extends LimitsInUse {
  /** Lines of which something could be claimed as far as they are concerned themselves, and lines that hold everything back. */
  readonly open: number;
  readonly held: number;
}

const mostLines = 10_000;

// `freed` is what notes say that has not been counted yet.
const useSql = ({ job, line, lineNote, flowUse }: Tables): string => `
SELECT h.home, coalesce(u.tat, 0) AS tat,
  coalesce(u.running, 0) - coalesce((SELECT sum(CASE WHEN h.home = 0 THEN n.queue_freed ELSE n.type_freed END)
    FROM ${lineNote} AS n WHERE n.queue = $1::text AND (h.home = 0 OR n.home = h.home)), 0) AS running,
  CASE WHEN EXISTS (SELECT FROM ${job} AS j WHERE j.ready AND j.lane = h.home) THEN 1 ELSE 0 END + (
    SELECT count(*) FROM (
      SELECT FROM ${line} AS l WHERE l.home = h.home AND l.open AND l.number <> l.home LIMIT ${mostLines}
    ) AS counted) AS open,
  (SELECT count(*) FROM (SELECT FROM ${line} AS l WHERE l.home = h.home AND l.held LIMIT ${mostLines}) AS counted) AS held
FROM unnest($2::bigint[]) AS h (home) LEFT JOIN ${flowUse} AS u ON u.queue = $1::text AND u.home = h.home`;

/** How much of its rules a queue uses, by the lanes of types; "0" for the queue as a whole. */
export const readUse = async (
  { query, tables }: Database,
  call: Call,
  queue: string,
  homes: readonly string[],
): Promise<Map<string, TypeUse>> => {
  const rows = await query(call.ctx, {
    sql: useSql(tables),
    params: [queue, arrayLiteral([...new Set(["0", ...homes])])],
  });
  return new Map(
    rows.map((row) => [
      text(row["home"]),
      {
        running: Number(row["running"]),
        tat: Number(row["tat"]),
        open: Number(row["open"]),
        held: Number(row["held"]),
      },
    ]),
  );
};

const nothing: LimitsInUse = { running: 0, tat: 0 };

/** What the rules of a queue and a type hold all jobs of the type back by. */
export const findHoldOfType = (
  { queue, type }: RulesOver,
  use: ReadonlyMap<string, LimitsInUse>,
  home: string,
  now: number,
): HoldReason | null =>
  findHoldOfRule(queue, use.get("0") ?? nothing, now) ?? findHoldOfRule(type, use.get(home) ?? nothing, now);
