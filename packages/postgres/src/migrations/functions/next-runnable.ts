import type { Tables } from "../../database/tables.ts";
import {
  attemptsLeft,
  define,
  isAgedQueueSql,
  newPlaceSql,
  nextTokenSql,
  deltaColumns,
  notesOfSql,
  promotionLimit,
  runOrder,
  typesSql,
} from "./shared.ts";

// A job that was for later when waiting began to count, or ceased to, gets its place now.
export const promoteSql = (tables: Tables): string => {
  const { schema, job, lineNote } = tables;
  return define(
    `${schema}.flow_promote`,
    "p_at bigint, p_homes bigint[]",
    "void",
    `
DECLARE v_moved int;
BEGIN
  LOOP
    WITH due AS MATERIALIZED (
      SELECT pending.id FROM unnest(p_homes) AS number CROSS JOIN LATERAL (
        SELECT j.id FROM ${job} AS j WHERE j.status = 'pending' AND NOT j.ready AND j.lane = number AND j.due_at <= p_at
        ORDER BY j.due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
      ) AS pending
      UNION ALL
      SELECT pending.id FROM unnest(p_homes) AS number CROSS JOIN LATERAL (
        SELECT j.id FROM ${job} AS j
        WHERE j.status = 'pending' AND NOT j.ready AND j.home IS NOT NULL AND j.home = number AND j.due_at <= p_at
        ORDER BY j.due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
      ) AS pending
    ),
    moved AS (
      UPDATE ${job} AS j SET ready = true,
        priority = CASE WHEN j.base_priority IS NULL AND ${isAgedQueueSql(tables)}
          THEN ${schema}.flow_rank(j.queue, coalesce(j.home, j.lane), j.priority, j.due_at)
          ELSE ${newPlaceSql(tables, "j.due_at")} END,
        base_priority = CASE WHEN ${isAgedQueueSql(tables)} THEN coalesce(j.base_priority, j.priority) ELSE j.base_priority END
      WHERE j.id = ANY (ARRAY(SELECT id FROM due))
      RETURNING j.queue, j.home, j.lane, j.group_key, j.ordered, j.slots
    ),
    noted AS (INSERT INTO ${lineNote} (${deltaColumns}) ${notesOfSql("moved")})
    SELECT count(*) INTO v_moved FROM moved;
    EXIT WHEN v_moved < ${promotionLimit};
  END LOOP;
END`,
  );
};

/**
 * When a claim can find something: in so many milliseconds; null when nothing is in sight. A claim reaps expired leases with
 * attempts left. What that frees is taken off the counters here, and nothing is written.
 */
export const nextSql = (tables: Tables): string => {
  const { schema, job, line, flowRule, flowUse } = tables;
  const isReaped = `v_has_expired AND j.status = 'running' AND j.due_at <= v_at AND ${attemptsLeft}`;
  const lineRoom = "CASE WHEN l.ordered THEN 1 ELSE t.group_room END";
  return define(
    `${schema}.flow_next`,
    "p_now bigint, p_queue text, p_homes bigint[], p_attempts int[]",
    "bigint",
    `
DECLARE
  v_at bigint;
  v_us bigint;
  v_homes bigint[] := p_homes;
  v_wait bigint;
  v_found bigint;
  v_next bigint;
  v_has_expired boolean;
  v_queue_freed bigint;
  v_type_freed bigint;
  q ${flowRule}%ROWTYPE;
  qu ${flowUse}%ROWTYPE;
  t record;
BEGIN
  v_at := ${schema}.flow_settle(p_now, p_queue, p_homes);
  v_us := v_at * 1000;
  SELECT * INTO q FROM ${flowRule} AS r WHERE r.queue = p_queue AND r.home = 0;
  IF q.paused THEN RETURN NULL; END IF;
  SELECT * INTO qu FROM ${flowUse} AS u WHERE u.queue = p_queue AND u.home = 0;
  v_has_expired := coalesce((SELECT j.due_at FROM ${job} AS j WHERE j.status = 'running' ORDER BY j.due_at LIMIT 1) <= v_at, false);
  SELECT count(*) FILTER (WHERE j.slots & 4 <> 0) INTO v_queue_freed FROM ${job} AS j
  WHERE ${isReaped} AND coalesce(j.home, j.lane) = ANY (p_homes);
  FOR t IN ${typesSql(tables)} LOOP
    v_wait := greatest(v_at, ${nextTokenSql("coalesce(qu.tat, 0)", "q.rate_interval", "q.rate_burst")},
      ${nextTokenSql("t.tat", "t.rate_interval", "t.rate_burst")});
    -- The end of a lease frees the job and its slots; that in the queue is free for jobs of any type.
    SELECT min(j.due_at) INTO v_found FROM ${job} AS j
    WHERE j.status = 'running' AND j.due_at > v_at AND ${attemptsLeft}
      AND (coalesce(j.home, j.lane) = t.home OR (q.concurrency IS NOT NULL AND coalesce(j.home, j.lane) = ANY (p_homes)));
    SELECT count(*) FILTER (WHERE j.slots & 2 <> 0) INTO v_type_freed FROM ${job} AS j
    WHERE ${isReaped} AND coalesce(j.home, j.lane) = t.home;
    IF coalesce(qu.running, 0) - v_queue_freed < coalesce(q.concurrency, 9223372036854775807)
      AND t.running - v_type_freed < coalesce(t.concurrency, 9223372036854775807) THEN
      v_found := least(v_found,
        (SELECT min(greatest(reaped.token_at, v_at)) FROM (
          SELECT ${nextTokenSql("coalesce(l.tat, 0)", "t.group_interval", "t.group_burst")} AS token_at,
            l.number IS NULL OR l.number = t.home
              OR (l.stopped_by IS NULL AND (${lineRoom} IS NULL OR l.running - j.freed < ${lineRoom})) AS is_free
          FROM (
            SELECT j.lane, count(*) FILTER (WHERE j.slots & 1 <> 0) AS freed FROM ${job} AS j
            WHERE ${isReaped} AND coalesce(j.home, j.lane) = t.home GROUP BY j.lane
          ) AS j LEFT JOIN ${line} AS l ON l.number = j.lane
        ) AS reaped WHERE reaped.is_free),
        (SELECT min(greatest(head.due_at, v_at)) FROM (
          SELECT l.number FROM ${line} AS l WHERE l.home = t.home AND l.open AND l.number <> t.home ORDER BY l.turn, l.number LIMIT 10
        ) AS l CROSS JOIN LATERAL (
          SELECT j.due_at FROM ${job} AS j WHERE j.ready AND j.lane = l.number ORDER BY ${runOrder} LIMIT 1
        ) AS head),
        coalesce(
          (SELECT v_at FROM ${job} AS j WHERE j.ready AND j.lane = t.home AND j.due_at <= v_at ORDER BY ${runOrder} LIMIT 1),
          (SELECT min(j.due_at) FROM ${job} AS j WHERE j.ready AND j.lane = t.home)
        ),
        (SELECT min(l.opens_at) FROM ${line} AS l WHERE l.queue = p_queue AND l.home = t.home AND l.opens_at > 0),
        (SELECT j.due_at FROM ${job} AS j WHERE j.status = 'pending' AND NOT j.ready AND j.lane = t.home ORDER BY j.due_at LIMIT 1),
        (SELECT min(greatest(later.due_at, later.token_at)) FROM (
          SELECT j.due_at, ${nextTokenSql("coalesce(l.tat, 0)", "t.group_interval", "t.group_burst")} AS token_at,
            l.number IS NULL OR (l.stopped_by IS NULL AND (${lineRoom} IS NULL OR l.running < ${lineRoom})
              AND NOT (l.ordered AND j.lease_version = 0 AND EXISTS (
                SELECT FROM ${job} AS r
                WHERE r.lane = j.lane AND r.ordered IS NOT NULL AND r.status = 'pending' AND NOT r.ready AND r.lease_version > 0
              ))) AS is_free
          FROM (
            SELECT j.lane, j.due_at, j.lease_version FROM ${job} AS j
            WHERE j.status = 'pending' AND NOT j.ready AND j.home IS NOT NULL AND j.home = t.home ORDER BY j.due_at LIMIT 200
          ) AS j LEFT JOIN ${line} AS l ON l.number = j.lane
        ) AS later WHERE later.is_free)
      );
    END IF;
    v_next := least(v_next, CASE WHEN v_found IS NULL THEN NULL ELSE greatest(v_found, v_wait) END);
  END LOOP;
  RETURN CASE WHEN v_next IS NOT NULL THEN greatest(0, v_next - v_at) END;
END`,
  );
};
