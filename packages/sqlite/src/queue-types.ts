import type { SqliteConnection } from "./connection/connection.ts";
import { defineRow } from "./row.ts";
import type { Tables } from "./tables.ts";

/** A job type in a queue: the indexes of pending and of blocked jobs begin with the two. */
export interface QueueType {
  readonly queue: string;
  readonly typeName: string;
}

const queueTypeRow = defineRow((columns): QueueType => ({
  queue: columns.value("queue"),
  typeName: columns.value("type_name"),
}));

/** All that have jobs of this status. Takes one step into the index for each, however many jobs there are. */
export const findQueueTypes = (
  db: SqliteConnection,
  { job, pendingIndex, blockedIndex }: Tables,
  status: "pending" | "blocked",
): QueueType[] => {
  const index = status === "pending" ? pendingIndex : blockedIndex;
  const select = `SELECT ${queueTypeRow.columns} FROM ${job} INDEXED BY ${index} WHERE status = '${status}'`;
  const order = "ORDER BY queue, type_name LIMIT 1";
  const next = `${select} AND (queue, type_name) > (?, ?) ${order}`;
  const found: QueueType[] = [];
  let queueType = queueTypeRow.first(db, `${select} ${order}`, []);
  while (queueType !== undefined) {
    found.push(queueType);
    queueType = queueTypeRow.first(db, next, [queueType.queue, queueType.typeName]);
  }
  return found;
};
