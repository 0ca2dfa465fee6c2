import type { Tables } from "../../database/tables.ts";
import { stateSql } from "./claim-limited.ts";
import {
  define,
  firstLine,
  foldLimit,
  groupLimitsSql,
  lockKeySql,
  presentSql,
  sweptLines,
} from "./shared.ts";

export const foldSql = (tables: Tables): string => {
  const { schema, line, lineNote, flowRule, flowUse } = tables;
  return define(
    `${schema}.flow_fold`,
    "p_at bigint, p_queue text",
    "int",
    `
DECLARE
  v_us bigint := p_at * 1000;
  v_folded int;
  v_queue_rule ${flowRule}%ROWTYPE;
BEGIN
  IF NOT EXISTS (SELECT FROM ${lineNote} AS n WHERE n.queue = p_queue)
    AND NOT EXISTS (SELECT FROM ${line} AS l WHERE l.queue = p_queue AND l.opens_at > 0 AND l.opens_at <= p_at)
  THEN RETURN 0; END IF;
  SELECT * INTO v_queue_rule FROM ${flowRule} AS r WHERE r.queue = p_queue AND r.home = 0;
  WITH gone AS (
    DELETE FROM ${lineNote} AS n
    WHERE n.ctid = ANY (ARRAY(SELECT m.ctid FROM ${lineNote} AS m WHERE m.queue = p_queue LIMIT ${foldLimit}))
    RETURNING n.*
  ),
  of_queue AS (
    INSERT INTO ${flowUse} AS u (queue, home, running) SELECT p_queue, 0, -sum(queue_freed) FROM gone HAVING sum(queue_freed) <> 0
    ON CONFLICT (queue, home) DO UPDATE SET running = u.running + excluded.running
  ),
  of_type AS (
    INSERT INTO ${flowUse} AS u (queue, home, running)
    SELECT p_queue, gone.home, -sum(type_freed) FROM gone GROUP BY gone.home HAVING sum(type_freed) <> 0
    ON CONFLICT (queue, home) DO UPDATE SET running = u.running + excluded.running
  ),
  timed AS (
    SELECT l.number FROM ${line} AS l WHERE l.queue = p_queue AND l.opens_at > 0 AND l.opens_at <= p_at
    ORDER BY l.opens_at LIMIT ${foldLimit}
  ),
  touched AS (
    SELECT line AS number, home, group_key, ordered, arrived, freed, CASE WHEN stopped_by IS NOT NULL THEN number END AS stopped_in
    FROM gone WHERE line <> home
    UNION ALL SELECT number, NULL, NULL, false, NULL, 0, NULL FROM timed
  ),
  summed AS MATERIALIZED (
    SELECT touched.number, max(touched.home) AS home, max(touched.group_key) AS group_key, bool_or(touched.ordered) AS ordered,
      CASE WHEN bool_and(touched.arrived IS NOT NULL) THEN sum(touched.arrived) END AS arrived,
      sum(touched.freed)::bigint AS freed, max(touched.stopped_in) AS stopped_in
    FROM touched GROUP BY touched.number
  ),
  changed AS MATERIALIZED (
    SELECT s.number, l.ctid AS place, coalesce(l.home, s.home) AS home, coalesce(l.group_key, s.group_key) AS group_key,
      coalesce(l.tat, 0) AS tat, coalesce(l.running, 0) - s.freed AS running, s.ordered OR coalesce(l.ordered, false) AS ordered,
      coalesce(l.turn, 0) AS turn, coalesce(l.open, false) AS was_open, coalesce(u.round, 0) AS round,
      -- An empty line is looked into: the jobs that have arrived may have been taken before their note was read.
      CASE WHEN s.ordered OR l.ordered OR s.arrived IS NULL THEN NULL
        WHEN l.number IS NULL THEN CASE WHEN s.arrived > 0 THEN true END
        WHEN l.open OR l.held THEN true
        WHEN s.arrived = 0 THEN false END AS waits,
      CASE WHEN l.number IS NULL THEN s.arrived ELSE l.backlog + s.arrived END AS backlog,
      CASE WHEN stop.stopped_by IS NOT NULL AND NOT EXISTS (
        SELECT FROM gone
        WHERE gone.line = s.number AND gone.resumed_by = stop.stopped_by AND gone.number > coalesce(s.stopped_in, 0)
      ) THEN stop.stopped_by END AS stopped_by,
      CASE WHEN s.ordered OR coalesce(l.ordered, false) THEN 1 ELSE limits.room END AS room, limits.interval, limits.burst
    FROM summed AS s LEFT JOIN ${line} AS l ON l.number = s.number
    LEFT JOIN ${flowUse} AS u ON u.queue = p_queue AND u.home = coalesce(l.home, s.home)
    LEFT JOIN ${flowRule} AS t ON t.queue = p_queue AND t.home = coalesce(l.home, s.home)
    CROSS JOIN LATERAL (${groupLimitsSql("t", "v_queue_rule")}) AS limits
    CROSS JOIN LATERAL (
      SELECT CASE WHEN s.stopped_in IS NULL THEN l.stopped_by
        ELSE (SELECT gone.stopped_by FROM gone WHERE gone.number = s.stopped_in) END AS stopped_by
    ) AS stop
  ),
  judged AS MATERIALIZED (
    SELECT c.number, c.place, c.home, c.group_key, c.running, c.ordered, c.stopped_by, state.open, state.held, state.opens_at,
      CASE WHEN state.open OR state.held THEN c.backlog ELSE 0 END AS backlog,
      -- A line that stays closed keeps its turn, so that no index has to be written.
      CASE WHEN state.open AND NOT c.was_open THEN greatest(c.turn, c.round) ELSE c.turn END AS turn
    FROM changed AS c CROSS JOIN ${stateSql(tables, "c")}
  ),
  added AS (
    INSERT INTO ${line} (number, queue, home, group_key, turn, running, backlog, ordered, stopped_by, open, held, opens_at)
    SELECT number, p_queue, home, group_key, turn, running, backlog, ordered, stopped_by, open, held, opens_at
    FROM judged WHERE place IS NULL
  ),
  written AS (
    UPDATE ${line} AS l SET turn = c.turn, running = c.running, backlog = c.backlog, ordered = c.ordered,
      stopped_by = c.stopped_by, open = c.open, held = c.held, opens_at = c.opens_at
    FROM (SELECT * FROM judged WHERE place IS NOT NULL LIMIT (SELECT 2147483647)) AS c WHERE l.ctid = c.place
  )
  SELECT count(*) INTO v_folded FROM gone;
  RETURN v_folded;
END`,
  );
};

/**
 * A line is forgotten when it would be made again just like that: nothing in it, nothing counted, no tokens spent, and its
 * turn long past. Looks at some lines from a random place on, of one queue, and not at all while somebody claims from it.
 */
export const sweepSql = ({ schema, line, flowUse }: Tables): string =>
  define(
    `${schema}.flow_sweep`,
    "p_now bigint",
    "int",
    `
DECLARE
  v_us bigint := ${presentSql} * 1000;
  v_start bigint := ${firstLine} + floor(random() * 72057594037927936)::bigint;
  v_queue text;
  v_swept int;
BEGIN
  SELECT l.queue INTO v_queue FROM ${line} AS l WHERE l.number >= v_start ORDER BY l.number LIMIT 1;
  IF v_queue IS NULL THEN
    v_start := ${firstLine};
    SELECT l.queue INTO v_queue FROM ${line} AS l WHERE l.number >= v_start ORDER BY l.number LIMIT 1;
  END IF;
  IF v_queue IS NULL OR NOT pg_try_advisory_xact_lock(${lockKeySql(schema, "v_queue")}) THEN RETURN 0; END IF;
  DELETE FROM ${line} AS l WHERE l.number = ANY (ARRAY(
    SELECT o.number FROM (
      SELECT * FROM ${line} AS m WHERE m.number >= v_start ORDER BY m.number LIMIT ${sweptLines}
    ) AS o JOIN ${flowUse} AS u ON u.queue = o.queue AND u.home = o.home
    WHERE o.queue = v_queue AND o.number <> o.home AND NOT o.open AND NOT o.held AND o.running = 0 AND o.opens_at = 0
      AND o.stopped_by IS NULL AND o.tat <= v_us AND o.turn <= u.round
  ));
  GET DIAGNOSTICS v_swept = ROW_COUNT;
  RETURN v_swept;
END`,
  );
