import type { ListRecentlyFinishedCall, RecentlyFinishedJob } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { byIndexOnly } from "../sql/index-only.ts";
import { text } from "../sql/row-values.ts";
import type { Tables } from "../tables.ts";

const columns = "queue, type_name, status, created_at, finished_at";

/**
 * An index has the first jobs of trees in the order in which they finished. Of other jobs, those that were created recently
 * are looked at: the ids that Leasehold makes are in the order of creation.
 */
const recentSql = ({ job }: Tables): string => `
SELECT ${columns} FROM (
  (SELECT ${columns} FROM ${job} WHERE finished_at > 0 AND id = root_sequence_id AND finished_at >= $1::bigint
    ORDER BY finished_at DESC LIMIT $2::int)
  UNION ALL
  SELECT ${columns} FROM (
    SELECT ${columns}, id, root_sequence_id FROM ${job} ORDER BY id DESC LIMIT $2::int
  ) AS newest WHERE id <> root_sequence_id AND finished_at >= greatest($1::bigint, 1)
) AS found ORDER BY finished_at DESC LIMIT $2::int`;

export const listRecentlyFinished = (
  database: Database,
  call: Call & ListRecentlyFinishedCall,
): Promise<RecentlyFinishedJob[]> =>
  byIndexOnly(database, call.ctx, async (ctx) => {
    const rows = await database.query(ctx, {
      sql: recentSql(database.tables),
      params: [call.from, call.limit],
    });
    return rows.map((row) => ({
      queue: text(row["queue"]),
      typeName: text(row["type_name"]),
      status: row["status"] as RecentlyFinishedJob["status"],
      createdAt: Number(row["created_at"]),
      finishedAt: Number(row["finished_at"]),
    }));
  });
