import type { Call, Database } from "../../database/database.ts";
import { firstLine, looseIndexScanSql } from "../../rows/runnable.ts";
import { isDeferred } from "../../rows/runnable.ts";
import type { Tables } from "../../database/tables.ts";

// Types whose own number is among those of lines are not found by searching, once there are lines. Older workers may have
// started jobs of such types without saying so.
const enableSql = (tables: Tables): string => {
  const { job, flow, flowRule } = tables;
  const among = `j.lane >= ${firstLine}`;
  return `
WITH RECURSIVE ${looseIndexScanSql(tables, "in_line", `j.ready AND ${among}`)},
${looseIndexScanSql(tables, "deferred", `${isDeferred} AND ${among}`)},
${looseIndexScanSql(tables, "blocked", `j.status = 'blocked' AND ${among}`)},
found AS (
  SELECT lane, queue, type_name FROM in_line
  UNION SELECT lane, queue, type_name FROM deferred
  UNION SELECT lane, queue, type_name FROM blocked
  UNION SELECT lane, queue, type_name FROM ${job} AS j WHERE j.status = 'running' AND ${among}
),
known AS (
  INSERT INTO ${flowRule} (queue, home, type_name) SELECT queue, lane, type_name FROM found ON CONFLICT DO NOTHING
)
UPDATE ${flow} SET enabled = true, epoch = epoch + 1 WHERE NOT enabled`;
};

export const enableFlow = async ({ query, tables, flow }: Database, { ctx }: Call): Promise<void> => {
  const [row] = await query(ctx, { sql: `SELECT enabled FROM ${tables.flow}`, params: [] });
  if (row?.["enabled"] === true) return;
  await query(ctx, { sql: enableSql(tables), params: [] });
  await flow.load(ctx);
};
