import type { Tables } from "../../database/tables.ts";
import {
  attemptsLeft,
  define,
  isHeldSql,
  limitOfGroupSql,
  nextTokenSql,
  pauseEndSql,
  runOrder,
  typesSql,
} from "./shared.ts";

/**
 * In how many milliseconds a claim can find a job; null if none is in sight. A claim reaps expired leases with attempts left.
 * This function only subtracts from the counters what that would free, and writes none of it.
 */
export const nextRunnableSql = (tables: Tables): string => {
  const { schema, job, groupState, limitEdit, limitRule, limitUsage } = tables;
  const isReaped = `v_has_expired AND j.status = 'running' AND j.due_at <= v_at AND ${attemptsLeft}`;
  const limit = (name: "concurrency" | "interval" | "bucket", otherwise: string): string =>
    limitOfGroupSql("t", "g.group_key", name, otherwise);
  const groupLimit = `CASE WHEN g.ordered THEN 1 ELSE ${limit("concurrency", "t.group_concurrency")} END`;
  const groupToken = nextTokenSql(
    "coalesce(g.bucket_full_at, 0)",
    `(${limit("interval", "t.group_interval")})`,
    `(${limit("bucket", "t.group_burst")})`,
  );
  return define(
    `${schema}.limit_next_runnable`,
    "p_now bigint, p_queue text, p_queue_types bigint[], p_attempts int[]",
    "bigint",
    `
DECLARE
  v_at bigint;
  v_us bigint;
  v_queue_types bigint[] := p_queue_types;
  v_wait bigint;
  v_found bigint;
  v_next bigint;
  v_has_expired boolean;
  v_queue_freed bigint;
  v_type_freed bigint;
  q ${limitRule}%ROWTYPE;
  qu ${limitUsage}%ROWTYPE;
  t record;
BEGIN
  v_at := ${schema}.limit_settle(p_now, p_queue, p_queue_types);
  v_us := v_at * 1000;
  SELECT * INTO q FROM ${limitRule} AS r WHERE r.queue = p_queue AND r.queue_type = 0;
  IF q.paused AND q.paused_until IS NULL THEN RETURN NULL; END IF;
  -- A claim has to check more groups after an edit of a rule.
  IF EXISTS (SELECT FROM ${limitEdit} AS e WHERE e.queue = p_queue AND NOT e.counts) THEN RETURN 0; END IF;
  SELECT * INTO qu FROM ${limitUsage} AS u WHERE u.queue = p_queue AND u.queue_type = 0;
  v_has_expired := coalesce((SELECT j.due_at FROM ${job} AS j WHERE j.status = 'running' ORDER BY j.due_at LIMIT 1) <= v_at, false);
  SELECT count(*) FILTER (WHERE j.counted_in & 4 <> 0) INTO v_queue_freed FROM ${job} AS j
  WHERE ${isReaped} AND coalesce(j.queue_type, j.claim_key) = ANY (p_queue_types);
  FOR t IN ${typesSql(tables, "(rule.paused AND rule.paused_until IS NULL)")} LOOP
    v_wait := greatest(v_at, q.paused_until, t.paused_until, ${nextTokenSql("coalesce(qu.bucket_full_at, 0)", "q.rate_interval", "q.rate_bucket")},
      ${nextTokenSql("t.bucket_full_at", "t.rate_interval", "t.rate_bucket")});
    -- The end of a lease frees the job and its slots. A slot of the queue is free for jobs of any type.
    SELECT min(j.due_at) INTO v_found FROM ${job} AS j
    WHERE j.status = 'running' AND j.due_at > v_at AND ${attemptsLeft}
      AND (coalesce(j.queue_type, j.claim_key) = t.queue_type
        OR (q.concurrency IS NOT NULL AND coalesce(j.queue_type, j.claim_key) = ANY (p_queue_types)));
    SELECT count(*) FILTER (WHERE j.counted_in & 2 <> 0) INTO v_type_freed FROM ${job} AS j
    WHERE ${isReaped} AND coalesce(j.queue_type, j.claim_key) = t.queue_type;
    IF coalesce(qu.running, 0) - v_queue_freed < coalesce(q.concurrency, 9223372036854775807)
      AND t.running - v_type_freed < coalesce(t.concurrency, 9223372036854775807) THEN
      v_found := least(v_found,
        (SELECT min(greatest(reaped.token_at, v_at)) FROM (
          SELECT greatest(${groupToken}, ${pauseEndSql("g")})
              AS token_at,
            g.claim_key IS NULL OR g.claim_key = t.queue_type
              OR (NOT ${isHeldSql("g")} AND (${groupLimit} IS NULL OR g.running - j.freed < ${groupLimit})) AS is_free
          FROM (
            SELECT j.claim_key, count(*) FILTER (WHERE j.counted_in & 1 <> 0) AS freed FROM ${job} AS j
            WHERE ${isReaped} AND coalesce(j.queue_type, j.claim_key) = t.queue_type GROUP BY j.claim_key
          ) AS j LEFT JOIN ${groupState} AS g ON g.claim_key = j.claim_key
        ) AS reaped WHERE reaped.is_free),
        (SELECT min(greatest(head.due_at, v_at)) FROM (
          SELECT g.claim_key FROM ${groupState} AS g
          WHERE g.queue_type = t.queue_type AND g.claimable AND g.claim_key <> t.queue_type
          ORDER BY g.virtual_time, g.claim_key LIMIT 10
        ) AS g CROSS JOIN LATERAL (
          SELECT j.due_at FROM ${job} AS j WHERE j.ready AND j.claim_key = g.claim_key ORDER BY ${runOrder} LIMIT 1
        ) AS head),
        coalesce(
          (SELECT v_at FROM ${job} AS j WHERE j.ready AND j.claim_key = t.queue_type AND j.due_at <= v_at
            ORDER BY ${runOrder} LIMIT 1),
          (SELECT min(j.due_at) FROM ${job} AS j WHERE j.ready AND j.claim_key = t.queue_type)
        ),
        (SELECT min(g.claimable_at) FROM ${groupState} AS g
          WHERE g.queue = p_queue AND g.queue_type = t.queue_type AND g.claimable_at > 0),
        (SELECT j.due_at FROM ${job} AS j WHERE j.status = 'pending' AND NOT j.ready AND j.claim_key = t.queue_type
          ORDER BY j.due_at LIMIT 1),
        (SELECT min(greatest(later.due_at, later.token_at)) FROM (
          SELECT j.due_at, greatest(${groupToken}, ${pauseEndSql("g")})
              AS token_at,
            g.claim_key IS NULL OR (NOT ${isHeldSql("g")} AND (${groupLimit} IS NULL OR g.running < ${groupLimit})
              AND NOT (g.ordered AND j.lease_version = 0 AND EXISTS (
                SELECT FROM ${job} AS r
                WHERE r.claim_key = j.claim_key AND r.ordered IS NOT NULL AND r.status = 'pending' AND NOT r.ready
                  AND r.lease_version > 0
              ))) AS is_free
          FROM (
            SELECT j.claim_key, j.due_at, j.lease_version FROM ${job} AS j
            WHERE j.status = 'pending' AND NOT j.ready AND j.queue_type IS NOT NULL AND j.queue_type = t.queue_type
            ORDER BY j.due_at LIMIT 200
          ) AS j LEFT JOIN ${groupState} AS g ON g.claim_key = j.claim_key
        ) AS later WHERE later.is_free)
      );
    END IF;
    v_next := least(v_next, CASE WHEN v_found IS NULL THEN NULL ELSE greatest(v_found, v_wait) END);
  END LOOP;
  RETURN CASE WHEN v_next IS NOT NULL THEN greatest(0, v_next - v_at) END;
END`,
  );
};
