import type { Tables } from "../../database/tables.ts";
import { define, lockKeySql, presentSql, virtualTimePerJob } from "./shared.ts";

// A copy of `firstGroupKey` in rows/runnable.ts, because the text of a released function never changes.
const firstGroupKey = "9151314442816847872";

const groupsPerCall = 1_000;

/**
 * Deletes groups whose state equals that of a new group: no jobs, nothing counted, no tokens spent, and a virtual time at most
 * one job ahead of their type. If each group has one job, none is further ahead and the type never passes them. Reads some groups of one queue from a random key on, and none while another transaction has the lock
 * of that queue.
 */
export const deleteIdleGroupsSql = ({ schema, groupState, limitUsage }: Tables): string =>
  define(
    `${schema}.limit_delete_idle_groups`,
    "p_now bigint",
    "int",
    `
DECLARE
  v_us bigint := ${presentSql} * 1000;
  v_start bigint := ${firstGroupKey} + floor(random() * 72057594037927936)::bigint;
  v_queue text;
  v_deleted int;
BEGIN
  SELECT g.queue INTO v_queue FROM ${groupState} AS g WHERE g.claim_key >= v_start ORDER BY g.claim_key LIMIT 1;
  IF v_queue IS NULL THEN
    v_start := ${firstGroupKey};
    SELECT g.queue INTO v_queue FROM ${groupState} AS g WHERE g.claim_key >= v_start ORDER BY g.claim_key LIMIT 1;
  END IF;
  IF v_queue IS NULL OR NOT pg_try_advisory_xact_lock(${lockKeySql(schema, "v_queue")}) THEN RETURN 0; END IF;
  DELETE FROM ${groupState} AS g WHERE g.claim_key = ANY (ARRAY(
    SELECT o.claim_key FROM (
      SELECT * FROM ${groupState} AS m WHERE m.claim_key >= v_start ORDER BY m.claim_key LIMIT ${groupsPerCall}
    ) AS o JOIN ${limitUsage} AS u ON u.queue = o.queue AND u.queue_type = o.queue_type
    WHERE o.queue = v_queue AND o.claim_key <> o.queue_type AND NOT o.claimable AND NOT o.throttled AND o.running = 0
      AND o.claimable_at = 0 AND o.stopped_by IS NULL AND coalesce(o.paused_until, 0) * 1000 <= v_us
      AND o.bucket_full_at <= v_us AND o.virtual_time <= u.served_virtual_time + ${virtualTimePerJob}
  ));
  GET DIAGNOSTICS v_deleted = ROW_COUNT;
  RETURN v_deleted;
END`,
  );
