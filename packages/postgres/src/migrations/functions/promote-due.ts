import type { Tables } from "../../database/tables.ts";
import { define, deltaColumns, deltasOfSql, promotionLimit } from "./shared.ts";

export const promoteDueSql = ({ schema, job, limitDelta }: Tables): string =>
  define(
    `${schema}.limit_promote_due`,
    "p_at bigint, p_queue_types bigint[]",
    "void",
    `
DECLARE v_moved int;
BEGIN
  LOOP
    WITH due AS MATERIALIZED (
      SELECT pending.id FROM unnest(p_queue_types) AS number CROSS JOIN LATERAL (
        SELECT j.id FROM ${job} AS j WHERE j.status = 'pending' AND NOT j.ready AND j.claim_key = number AND j.due_at <= p_at
        ORDER BY j.due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
      ) AS pending
      UNION ALL
      SELECT pending.id FROM unnest(p_queue_types) AS number CROSS JOIN LATERAL (
        SELECT j.id FROM ${job} AS j
        WHERE j.status = 'pending' AND NOT j.ready AND j.queue_type IS NOT NULL AND j.queue_type = number AND j.due_at <= p_at
        ORDER BY j.due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
      ) AS pending
    ),
    moved AS (
      UPDATE ${job} AS j SET ready = true WHERE j.id = ANY (ARRAY(SELECT id FROM due))
      RETURNING j.queue, j.queue_type, j.claim_key, j.group_key, j.ordered, j.counted_in
    ),
    reported AS (INSERT INTO ${limitDelta} (${deltaColumns}) ${deltasOfSql("moved")})
    SELECT count(*) INTO v_moved FROM moved;
    EXIT WHEN v_moved < ${promotionLimit};
  END LOOP;
END`,
  );
