import type { ListReportersCall, StateReporter } from "leasehold/adapter";
import type { Call, Database } from "../../database.ts";
import { text, textOrNull } from "../../sql/row-values.ts";

/** There are as many rows as processes. An index by time would have to be written at every report. */
export const listReporters = async (
  { query, tables }: Database,
  call: Call & ListReportersCall,
): Promise<StateReporter[]> => {
  const rows = await query(call.ctx, {
    sql: `SELECT * FROM ${tables.reporter} WHERE seen_at >= $1::bigint ORDER BY seen_at DESC, id LIMIT $2::int`,
    params: [call.seenFrom, call.limit],
  });
  return rows.map((row) => ({
    id: text(row["id"]),
    deployment: textOrNull(row["deployment"]),
    startedAt: Number(row["started_at"]),
    about: text(row["about"]),
    seenAt: Number(row["seen_at"]),
  }));
};
