import { agePriorityMsOf } from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import { defineRow, firstNumber } from "../row.ts";
import type { Tables } from "../tables.ts";
import { type Lanes, rulesOver } from "./lanes.ts";
import { begunRank, rankInLine, rankOf, type Ranked } from "./place.ts";

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

export const prepareCountInLine = ({ job, lineIndex, runningIndex }: Tables, lanes: Lanes): CountInLine => {
  const rank = `coalesce(rank, ${rankInLine})`;
  const countPending = `SELECT count(*) FROM (
    SELECT 1 FROM (SELECT ${rank} AS place, scheduled_at, seq FROM ${job} INDEXED BY ${lineIndex}
      WHERE line = ? AND (rank = ${begunRank} OR scheduled_at <= ?))
    WHERE (-place, scheduled_at, seq) < (-?, ?, ?) LIMIT ?)`;
  const listExpired = `SELECT ${expiredRow.columns} FROM ${job} INDEXED BY ${runningIndex} WHERE status = 'running'
    AND leased_until <= ? AND attempt < max_attempts AND queue = ? AND type_name = ? AND group_key IS ?`;

  return (db, place, cap, now) => {
    const { queue, typeName, group, line, seq, scheduledAt } = place;
    const age = agePriorityMsOf(rulesOver(lanes.read(db).get(queue), typeName));
    const moment = Math.max(now, scheduledAt);
    const own = rankOf(place, age, moment)!;
    const pending = firstNumber(db, countPending, [age, age, line, moment, own, scheduledAt, seq, cap]) ?? 0;
    const expired = expiredRow.all(db, listExpired, [now, queue, typeName, group]).filter((other) => {
      const rank = rankOf({ ...other, group }, age, moment)!;
      const isSooner =
        other.scheduledAt < scheduledAt || (other.scheduledAt === scheduledAt && other.seq < seq);
      return rank > own || (rank === own && isSooner);
    });
    return Math.min(cap, pending + expired.length);
  };
};
