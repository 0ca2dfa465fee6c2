import type { Call, Database } from "../database/database.ts";
import { findQueueTypes } from "../rows/runnable.ts";
import { arrayLiteral } from "../database/sql.ts";
import { text } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

/** Marks a queue after a change of `agePriorityMs`, in the transaction that holds its lock. The reaper then sees to it. */
export const beginRerankingSql = ({ flowUse }: Tables): string => `
INSERT INTO ${flowUse} (queue, home, rerank) VALUES ($1::text, 0, '{}')
ON CONFLICT (queue, home) DO UPDATE SET rerank = excluded.rerank`;

/** Some jobs with each call. In a transaction of the caller the lock of the queue would be held until that ends. */
export const rerankWaitingJobs = async (database: Database, call: Call): Promise<void> => {
  const { query, flow } = database;
  if (flow.epoch === 0 || call.ctx !== undefined) return;
  const rows = await query(undefined, {
    name: "queues_to_rerank",
    sql: ({ flowUse }) => `SELECT queue FROM ${flowUse} WHERE rerank IS NOT NULL`,
    params: [],
  });
  for (const row of rows) {
    const queue = text(row["queue"]);
    const types = await findQueueTypes(database, call, [{ queue, typeNames: null }]);
    await query(undefined, {
      name: "rerank",
      sql: ({ schema }) => `SELECT ${schema}.flow_rerank($1::bigint, $2::text, $3::bigint[])`,
      params: [call.now ?? null, queue, arrayLiteral(types.map(({ number }) => number))],
    });
  }
};
