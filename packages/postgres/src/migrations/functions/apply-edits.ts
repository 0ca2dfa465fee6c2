import type { Tables } from "../../database/tables.ts";
import { define, deltaColumns, groupLimitsSql } from "./shared.ts";

/** Throttled groups that one call checks again. */
const groupsPerEdit = 1_000;

// A claim that read the rules before the edit was committed may commit a little later, and its jobs are not counted.
const recountEveryMs = 1_000;
const recountForMs = 10_000;

// The counters that the rules put a running job in, without the counters that it is in.
const missing = `(
    CASE WHEN j.queue_type IS NOT NULL AND (j.ordered IS NOT NULL
      OR (SELECT limits.concurrency FROM (${groupLimitsSql("t", "q", "j.group_key")}) AS limits) IS NOT NULL) THEN 1 ELSE 0 END
    | CASE WHEN t.concurrency IS NULL THEN 0 ELSE 2 END
    | CASE WHEN q.concurrency IS NULL THEN 0 ELSE 4 END
  ) & ~coalesce(j.counted_in, 0)`;

const uncountedSql = ({ job, limitRule }: Tables): string => `FROM ${job} AS j
    LEFT JOIN ${limitRule} AS t ON t.queue = j.queue AND t.queue_type = coalesce(j.queue_type, j.claim_key)
    LEFT JOIN ${limitRule} AS q ON q.queue = j.queue AND q.queue_type = 0
    WHERE j.status = 'running' AND j.queue = p_queue AND ${missing} <> 0`;

/** Counts running jobs against limits that were set after their claim. Returns whether some were locked and are left. */
export const countRunningSql = (tables: Tables): string => {
  const { schema, job, groupState, limitDelta, limitUsage } = tables;
  const uncounted = uncountedSql(tables);
  const addTo = (queueType: string, bit: number): string => `
    INSERT INTO ${limitUsage} AS u (queue, queue_type, running)
    SELECT p_queue, ${queueType}, count(*) FROM counted WHERE counted_in & ${bit} <> 0 GROUP BY 2
    ON CONFLICT (queue, queue_type) DO UPDATE SET running = u.running + excluded.running`;
  return define(
    `${schema}.limit_count_running`,
    "p_queue text",
    "boolean",
    `
BEGIN
  WITH uncounted AS MATERIALIZED (
    SELECT j.id, j.queue_type, j.claim_key, j.group_key, j.ordered, ${missing} AS counted_in ${uncounted}
    ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED
  ),
  counted AS (
    UPDATE ${job} AS j SET counted_in = coalesce(j.counted_in, 0) | u.counted_in
    FROM uncounted AS u WHERE j.id = u.id AND j.status = 'running' RETURNING u.*
  ),
  of_queue AS (${addTo("0", 4)}),
  of_type AS (${addTo("coalesce(counted.queue_type, counted.claim_key)", 2)}),
  of_group AS (
    INSERT INTO ${groupState} AS g (claim_key, queue, queue_type, group_key, ordered, running)
    SELECT claim_key, p_queue, queue_type, group_key, bool_or(ordered IS NOT NULL), count(*)
    FROM counted WHERE counted_in & 1 <> 0 GROUP BY claim_key, queue_type, group_key
    ON CONFLICT (claim_key) DO UPDATE SET running = g.running + excluded.running, ordered = g.ordered OR excluded.ordered
    RETURNING g.*
  )
  INSERT INTO ${limitDelta} (${deltaColumns})
  SELECT queue, queue_type, claim_key, group_key, ordered, NULL, 0, 0, 0 FROM of_group;
  RETURN EXISTS (SELECT ${uncounted});
END`,
  );
};

/**
 * Does what an edit of a rule left to the next claim: buckets never emptier than the new rate allows, running jobs counted,
 * throttled groups checked again. The first call after an edit adjusts all buckets but those of throttled groups after the
 * first portion. These cannot be spent until a later call comes to them, which bounds them by the rate at that time.
 */
export const applyEditsSql = (tables: Tables): string => {
  const { schema, groupState, limitDelta, limitEdit, limitRule, limitUsage } = tables;
  const throttledAfter = (key: string): string => `ARRAY(
      SELECT g.claim_key FROM ${groupState} AS g WHERE g.queue_type = e.queue_type AND g.throttled AND g.claim_key > ${key}
      ORDER BY g.claim_key LIMIT ${groupsPerEdit}
    )`;
  return define(
    `${schema}.limit_apply_edits`,
    "p_at bigint, p_queue text",
    "void",
    `
DECLARE
  v_us bigint := p_at * 1000;
  v_keys bigint[];
  e ${limitEdit}%ROWTYPE;
BEGIN
  FOR e IN SELECT * FROM ${limitEdit} AS m WHERE m.queue = p_queue AND m.counts
    AND (m.count_at IS NULL OR p_at >= m.count_at OR p_at < m.count_at - ${recountEveryMs}) LOOP
    IF NOT ${schema}.limit_count_running(p_queue) AND p_at >= e.count_until THEN
      DELETE FROM ${limitEdit} AS m WHERE m.number = e.number;
    ELSE
      UPDATE ${limitEdit} AS m SET count_at = p_at + ${recountEveryMs}, count_until = coalesce(m.count_until, p_at + ${recountForMs})
      WHERE m.number = e.number;
    END IF;
  END LOOP;

  FOR e IN SELECT * FROM ${limitEdit} AS m WHERE m.queue = p_queue AND NOT m.counts AND m.after_key IS NULL ORDER BY m.number LOOP
    IF e.claim_key IS NOT NULL THEN
      UPDATE ${groupState} AS g SET bucket_full_at = e.group_bound
      WHERE g.claim_key = e.claim_key AND g.bucket_full_at > e.group_bound;
      INSERT INTO ${limitDelta} (queue, queue_type, claim_key, group_key, arrived)
      SELECT g.queue, g.queue_type, g.claim_key, g.group_key, 0 FROM ${groupState} AS g WHERE g.claim_key = e.claim_key;
      DELETE FROM ${limitEdit} AS m WHERE m.number = e.number;
      CONTINUE;
    END IF;
    UPDATE ${limitUsage} AS u SET bucket_full_at = e.bucket_bound
    WHERE u.queue = p_queue AND u.queue_type = e.queue_type AND u.bucket_full_at > e.bucket_bound;
    IF e.group_bound IS NOT NULL THEN
      UPDATE ${groupState} AS g SET bucket_full_at = e.group_bound
      WHERE g.queue = p_queue AND g.queue_type = ANY (e.group_types) AND g.claim_key <> g.queue_type
        AND NOT g.throttled AND g.bucket_full_at > greatest(e.group_bound, v_us) AND g.claim_key <> ALL (e.named_keys);
    END IF;
    DELETE FROM ${limitEdit} AS m WHERE m.number = e.number;
    FOR e IN INSERT INTO ${limitEdit} (queue, queue_type, group_bound, after_key, named_keys)
      SELECT p_queue, number, e.group_bound, -9223372036854775808, e.named_keys FROM unnest(e.group_types) AS number RETURNING * LOOP
      v_keys := ${throttledAfter("e.after_key")};
      UPDATE ${groupState} AS g SET bucket_full_at = e.group_bound
      WHERE g.claim_key = ANY (v_keys) AND g.bucket_full_at > e.group_bound AND g.claim_key <> ALL (e.named_keys);
    END LOOP;
  END LOOP;

  FOR e IN SELECT * FROM ${limitEdit} AS m WHERE m.queue = p_queue AND NOT m.counts ORDER BY m.number LOOP
    v_keys := ${throttledAfter("e.after_key")};
    IF cardinality(v_keys) > 0 THEN
      UPDATE ${groupState} AS g SET bucket_full_at = CASE WHEN limits.interval IS NULL THEN 0
        ELSE least(g.bucket_full_at, v_us + limits.burst * limits.interval) END
      FROM ${groupState} AS o LEFT JOIN ${limitRule} AS t ON t.queue = p_queue AND t.queue_type = e.queue_type
      LEFT JOIN ${limitRule} AS q ON q.queue = p_queue AND q.queue_type = 0
      CROSS JOIN LATERAL (${groupLimitsSql("t", "q", "o.group_key")}) AS limits
      WHERE o.claim_key = ANY (v_keys) AND o.bucket_full_at > 0 AND g.claim_key = o.claim_key;
      INSERT INTO ${limitDelta} (queue, queue_type, claim_key, group_key, arrived)
      SELECT g.queue, g.queue_type, g.claim_key, g.group_key, 0 FROM ${groupState} AS g WHERE g.claim_key = ANY (v_keys);
    END IF;
    IF cardinality(v_keys) < ${groupsPerEdit} THEN DELETE FROM ${limitEdit} AS m WHERE m.number = e.number;
    ELSE
      UPDATE ${limitEdit} AS m SET after_key = v_keys[${groupsPerEdit}] WHERE m.number = e.number;
      EXIT;
    END IF;
  END LOOP;
END`,
  );
};

/** At the beginning of a function, under the lock of the queue. */
export const editsSql = ({ schema, limitEdit }: Tables): string =>
  `IF EXISTS (SELECT FROM ${limitEdit} AS e WHERE e.queue = p_queue) THEN
    PERFORM ${schema}.limit_apply_edits(v_at, p_queue);
  END IF;`;
