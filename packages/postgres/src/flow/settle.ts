import type { Call, Database } from "../database.ts";
import type { QueueType } from "../queue-types.ts";
import { ruledParams } from "./claim-ruled.ts";

/**
 * Makes the lines of a queue show what has happened so far, before they are read. In a transaction of the caller nothing is
 * done: the lock of the queue would be held until that ends.
 */
export const settleQueue = async (
  { query, tables }: Database,
  call: Call,
  queueTypes: readonly QueueType[],
): Promise<void> => {
  if (call.ctx !== undefined || queueTypes.length === 0) return;
  const [queue, homes] = ruledParams(queueTypes);
  await query(undefined, {
    sql: `SELECT ${tables.schema}.flow_settle($1::bigint, $2::text, $3::bigint[])`,
    params: [call.now ?? null, queue, homes],
  });
};
