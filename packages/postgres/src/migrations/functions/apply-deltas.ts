import type { Tables } from "../../database/tables.ts";
import { define, deltasPerPass, groupLimitsSql, stateSql } from "./shared.ts";

/** Returns how many deltas were applied. With `deltasPerPass` there may be more. */
export const applyDeltasSql = (tables: Tables): string => {
  const { schema, groupState, limitDelta, limitRule, limitUsage } = tables;
  return define(
    `${schema}.limit_apply_deltas`,
    "p_at bigint, p_queue text",
    "int",
    `
DECLARE
  v_us bigint := p_at * 1000;
  v_applied int;
  v_queue_rule ${limitRule}%ROWTYPE;
BEGIN
  IF NOT EXISTS (SELECT FROM ${limitDelta} AS n WHERE n.queue = p_queue)
    AND NOT EXISTS (SELECT FROM ${groupState} AS g WHERE g.queue = p_queue AND g.claimable_at > 0 AND g.claimable_at <= p_at)
  THEN RETURN 0; END IF;
  SELECT * INTO v_queue_rule FROM ${limitRule} AS r WHERE r.queue = p_queue AND r.queue_type = 0;
  WITH gone AS (
    DELETE FROM ${limitDelta} AS n
    WHERE n.ctid = ANY (ARRAY(SELECT m.ctid FROM ${limitDelta} AS m WHERE m.queue = p_queue LIMIT ${deltasPerPass}))
    RETURNING n.*
  ),
  of_queue AS (
    INSERT INTO ${limitUsage} AS u (queue, queue_type, running)
    SELECT p_queue, 0, -sum(queue_freed) FROM gone HAVING sum(queue_freed) <> 0
    ON CONFLICT (queue, queue_type) DO UPDATE SET running = u.running + excluded.running
  ),
  of_type AS (
    INSERT INTO ${limitUsage} AS u (queue, queue_type, running)
    SELECT p_queue, gone.queue_type, -sum(type_freed) FROM gone GROUP BY gone.queue_type HAVING sum(type_freed) <> 0
    ON CONFLICT (queue, queue_type) DO UPDATE SET running = u.running + excluded.running
  ),
  timed AS (
    SELECT g.claim_key FROM ${groupState} AS g WHERE g.queue = p_queue AND g.claimable_at > 0 AND g.claimable_at <= p_at
    ORDER BY g.claimable_at LIMIT ${deltasPerPass}
  ),
  touched AS (
    SELECT claim_key, queue_type, group_key, ordered, arrived, group_freed,
      CASE WHEN stopped_by IS NOT NULL THEN number END AS stopped_in,
      CASE WHEN paused_until IS NOT NULL THEN number END AS paused_in
    FROM gone WHERE claim_key <> queue_type
    UNION ALL SELECT claim_key, NULL, NULL, false, NULL, 0, NULL, NULL FROM timed
  ),
  summed AS MATERIALIZED (
    SELECT touched.claim_key, max(touched.queue_type) AS queue_type, max(touched.group_key) AS group_key,
      bool_or(touched.ordered) AS ordered, CASE WHEN bool_and(touched.arrived IS NOT NULL) THEN sum(touched.arrived) END AS arrived,
      sum(touched.group_freed)::bigint AS freed, max(touched.stopped_in) AS stopped_in,
      max(touched.paused_in) AS paused_in
    FROM touched GROUP BY touched.claim_key
  ),
  changed AS MATERIALIZED (
    SELECT s.claim_key, g.ctid AS place, coalesce(g.queue_type, s.queue_type) AS queue_type,
      coalesce(g.group_key, s.group_key) AS group_key, coalesce(g.bucket_full_at, 0) AS bucket_full_at,
      coalesce(g.running, 0) - s.freed AS running, s.ordered OR coalesce(g.ordered, false) AS ordered,
      coalesce(g.virtual_time, 0) AS virtual_time, coalesce(g.claimable, false) AS was_claimable,
      coalesce(u.served_virtual_time, 0) AS served_virtual_time,
      -- An empty group is checked in the index: a claim may have taken the arrived jobs before it applied their delta.
      CASE WHEN s.ordered OR g.ordered OR s.arrived IS NULL THEN NULL
        WHEN g.claim_key IS NULL THEN CASE WHEN s.arrived > 0 THEN true END
        WHEN g.claimable OR g.throttled THEN true
        WHEN s.arrived = 0 THEN false END AS waits,
      CASE WHEN g.claim_key IS NULL THEN s.arrived ELSE g.backlog + s.arrived END AS backlog,
      CASE WHEN stop.stopped_by IS NOT NULL AND NOT EXISTS (
        SELECT FROM gone
        WHERE gone.claim_key = s.claim_key AND gone.resumed_by = stop.stopped_by AND gone.number > coalesce(s.stopped_in, 0)
      ) THEN stop.stopped_by END AS stopped_by,
      CASE WHEN s.paused_in IS NULL THEN g.paused_until
        ELSE (SELECT gone.paused_until FROM gone WHERE gone.number = s.paused_in) END AS paused_until,
      CASE WHEN s.ordered OR coalesce(g.ordered, false) THEN 1 ELSE limits.concurrency END AS concurrency,
      limits.interval, limits.burst
    FROM summed AS s LEFT JOIN ${groupState} AS g ON g.claim_key = s.claim_key
    LEFT JOIN ${limitUsage} AS u ON u.queue = p_queue AND u.queue_type = coalesce(g.queue_type, s.queue_type)
    LEFT JOIN ${limitRule} AS t ON t.queue = p_queue AND t.queue_type = coalesce(g.queue_type, s.queue_type)
    CROSS JOIN LATERAL (${groupLimitsSql("t", "v_queue_rule", "coalesce(g.group_key, s.group_key)")}) AS limits
    CROSS JOIN LATERAL (
      SELECT CASE WHEN s.stopped_in IS NULL THEN g.stopped_by
        ELSE (SELECT gone.stopped_by FROM gone WHERE gone.number = s.stopped_in) END AS stopped_by
    ) AS stop
  ),
  decided AS MATERIALIZED (
    SELECT c.claim_key, c.place, c.queue_type, c.group_key, c.running, c.ordered, c.stopped_by, c.paused_until, state.claimable,
      state.throttled, state.claimable_at, CASE WHEN state.claimable OR state.throttled THEN c.backlog ELSE 0 END AS backlog,
      -- A group that stays closed keeps its virtual time, so that the update touches no index.
      CASE WHEN state.claimable AND NOT c.was_claimable THEN greatest(c.virtual_time, c.served_virtual_time)
        ELSE c.virtual_time END AS virtual_time
    FROM changed AS c CROSS JOIN ${stateSql(tables, "c")}
  ),
  added AS (
    INSERT INTO ${groupState} (claim_key, queue, queue_type, group_key, virtual_time, running, backlog, ordered, stopped_by,
      paused_until, claimable, throttled, claimable_at)
    SELECT claim_key, p_queue, queue_type, group_key, virtual_time, running, backlog, ordered, stopped_by,
      paused_until, claimable, throttled, claimable_at
    FROM decided WHERE place IS NULL
  ),
  written AS (
    UPDATE ${groupState} AS g SET virtual_time = c.virtual_time, running = c.running, backlog = c.backlog,
      ordered = c.ordered, stopped_by = c.stopped_by, paused_until = c.paused_until, claimable = c.claimable, throttled = c.throttled,
      claimable_at = c.claimable_at
    FROM (SELECT * FROM decided WHERE place IS NOT NULL LIMIT (SELECT 2147483647)) AS c WHERE g.ctid = c.place
  )
  SELECT count(*) INTO v_applied FROM gone;
  RETURN v_applied;
END`,
  );
};
