import type { ReadRollupsCall, Rollup } from "leasehold/adapter";
import type { Call, Database } from "../../database.ts";
import { rollupColumns, rollupKey, toRollup } from "../../history/rollup-rows.ts";
import { arrayLiteral } from "../../sql/array-literal.ts";

export const readRollups = async (
  { query, tables }: Database,
  call: Call & ReadRollupsCall,
): Promise<Rollup[]> => {
  const { width, from, before, queues, typeNames, limit } = call;
  const rows = await query(call.ctx, {
    sql: `SELECT ${rollupColumns} FROM ${tables.rollup}
      WHERE width = $1::bigint AND begins_at >= $2::bigint AND begins_at < $3::bigint
        AND ($4::text[] IS NULL OR queue = ANY ($4::text[])) AND ($5::text[] IS NULL OR type_name = ANY ($5::text[]))
      ORDER BY ${rollupKey()} LIMIT $6::int`,
    params: [
      width,
      from,
      before,
      queues ? arrayLiteral(queues) : null,
      typeNames ? arrayLiteral(typeNames) : null,
      limit,
    ],
  });
  return rows.map(toRollup);
};
