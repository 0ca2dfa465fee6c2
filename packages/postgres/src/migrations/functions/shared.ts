import type { Tables } from "../../database/tables.ts";

// The functions of queues with rules or groups. All of them run under the advisory lock of one queue, which lasts until the
// transaction ends. They are functions because at READ COMMITTED each statement of a function takes a new snapshot. A plain
// statement that begins with the lock would keep the snapshot from before it waited.
//
//   limit_claim               promotes, reaps, applies deltas, then claims jobs group by group and counts them
//   limit_promote_due         marks deferred jobs as ready once they are due
//   limit_reap                returns jobs with expired leases to the queue and frees their slots
//   limit_apply_deltas        adds deltas to groups and counters, and opens groups whose time has come
//   limit_apply_edits         adjusts buckets and checks throttled groups after an edit of a rule
//   limit_count_running       counts running jobs against a new limit
//   limit_settle              promotes and applies edits and deltas, before a read
//   limit_next_runnable       settles, then computes when a claim can find a job
//   limit_delete_idle_groups  deletes the state of groups that have no jobs and no spent tokens
//
// No function waits for a row: jobs locked by another transaction are skipped, and only these functions write groups and
// counters.
//
// Released functions are never edited here. A later migration replaces them.

// With old statistics the planner expects a small table and reads all of it. These settings leave it only the indexes, of
// which every read here has one.
const indexesOnly = ["seqscan", "bitmapscan", "hashjoin", "mergejoin"]
  .map((kind) => `SET enable_${kind} = off`)
  .join(" ");

export const define = (name: string, parameters: string, returns: string, body: string): string => `
CREATE OR REPLACE FUNCTION ${name}(${parameters}) RETURNS ${returns}
LANGUAGE plpgsql VOLATILE ${indexesOnly} SET jit = off SET plan_cache_mode = force_generic_plan AS $function$
${body}
$function$`;

/** How much a job adds to the virtual time of its group. It is divided by the weight of the group. */
export const virtualTimePerJob = 1_048_576;

/** Deltas that one pass applies. */
export const deltasPerPass = 2_000;

/** Jobs that one pass promotes or reaps. */
export const promotionLimit = 1_000;

export const runOrder = "j.priority DESC, j.due_at, j.position";

// Token buckets in the form of GCRA, as in the rules of core. The arguments are columns or variables; `v_us` is the present
// in microseconds.

export const tokensSql = (bucketFullAt: string, interval: string, burst: string): string =>
  `CASE WHEN ${interval} IS NULL THEN 2147483647 ELSE
    least(2147483647, greatest(0, (v_us + ${burst} * ${interval} - greatest(${bucketFullAt}, v_us)) / ${interval})) END`;

export const nextTokenSql = (bucketFullAt: string, interval: string, burst: string): string =>
  `CASE WHEN ${interval} IS NULL OR ${bucketFullAt} <= v_us + (${burst} - 1) * ${interval} THEN 0
    ELSE (${bucketFullAt} - (${burst} - 1) * ${interval} + 999) / 1000 END`;

export const spendSql = (bucketFullAt: string, interval: string, count: string): string =>
  `CASE WHEN ${interval} IS NULL OR ${count} = 0 THEN ${bucketFullAt}
    ELSE greatest(${bucketFullAt}, v_us) + ${count} * ${interval} END`;

export const deltaColumns =
  "queue, queue_type, claim_key, group_key, ordered, arrived, group_freed, type_freed, queue_freed";

/**
 * Deltas of jobs that became ready, from a table with queue, queue_type, claim_key, group_key, ordered, and counted_in as it
 * was before.
 */
export const deltasOfSql = (moved: string): string => `
  SELECT queue, coalesce(queue_type, claim_key), claim_key, group_key, bool_or(ordered IS NOT NULL), count(*),
    count(*) FILTER (WHERE counted_in & 1 <> 0), count(*) FILTER (WHERE counted_in & 2 <> 0),
    count(*) FILTER (WHERE counted_in & 4 <> 0)
  FROM ${moved} AS moved WHERE queue_type IS NOT NULL OR counted_in IS NOT NULL
  GROUP BY queue, queue_type, claim_key, group_key`;

/** Whether an expired lease leaves attempts. `p_attempts` has the numbers of handlers, in the order of `p_queue_types`. */
export const attemptsLeft = `j.attempt < CASE WHEN j.max_attempts_explicit = false
  THEN coalesce(p_attempts[array_position(p_queue_types, coalesce(j.queue_type, j.claim_key))], j.max_attempts)
  ELSE j.max_attempts END`;

type NamedLimit = "concurrency" | "interval" | "bucket";

/** A limit of the group with this key: its own, or the other one if the rule `t` of its type does not name it. */
export const limitOfGroupSql = (t: string, key: string, limit: NamedLimit, otherwise: string): string =>
  `CASE WHEN (${t}.named_groups -> ${key}) IS NULL THEN ${otherwise}
    ELSE (${t}.named_groups -> ${key} ->> '${limit}')::bigint END`;

/**
 * The limits of each group of a type, from the rules `t` of the type and `q` of the queue. With the key of a group, the limits
 * of this group.
 */
export const groupLimitsSql = (t: string, q: string, key?: string): string => {
  const either = (column: string, limit: NamedLimit): string => {
    const each = `CASE WHEN ${t}.group_limits THEN ${t}.${column} WHEN ${q}.group_limits THEN ${q}.${column} END`;
    return key === undefined ? each : limitOfGroupSql(t, key, limit, each);
  };
  return `SELECT ${either("group_concurrency", "concurrency")} AS concurrency,
    ${either("group_rate_interval", "interval")} AS interval, ${either("group_rate_bucket", "bucket")} AS burst`;
};

export const lockKeySql = (schema: string, queue: string): string =>
  `hashtextextended('leasehold limits of ${schema.replaceAll('"', "")} ' || ${queue}, 0)`;

export const lockSql = ({ schema }: Tables): string =>
  `PERFORM pg_advisory_xact_lock(${lockKeySql(schema, "p_queue")});`;

export const presentSql = "coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

// A copy of `pauseWithoutEnd` of core, because the text of a released function never changes.
const pauseWithoutEnd = "9007199254740991";

/** Whether the pause of a rule holds at `v_at`. */
export const isPausedSql = (rule: string): string =>
  `(${rule}.paused AND (${rule}.paused_until IS NULL OR ${rule}.paused_until > v_at))`;

/** Whether a group waits for a call that resumes it. */
export const isHeldSql = (group: string): string =>
  `(${group}.stopped_by IS NOT NULL OR coalesce(${group}.paused_until, 0) = ${pauseWithoutEnd})`;

/** The end of the pause of a group, or 0 if it is over. */
export const pauseEndSql = (group: string): string =>
  `CASE WHEN ${group}.paused_until * 1000 > v_us THEN ${group}.paused_until ELSE 0 END`;

/** The rules and the usage of the types in `v_queue_types`, except where this condition holds. */
export const typesSql = (
  { limitRule, limitUsage, groupState }: Tables,
  leftOut: string = isPausedSql("rule"),
): string => `
  SELECT h.queue_type, rule.paused_until, rule.concurrency, rule.rate_interval, rule.rate_bucket, coalesce(rule.weights, '{}') AS weights,
    rule.named_groups,
    coalesce(u.running, 0) AS running, coalesce(u.bucket_full_at, 0) AS bucket_full_at,
    coalesce(u.served_virtual_time, 0) AS served_virtual_time,
    own.claim_key IS NULL AS is_new, limits.concurrency AS group_concurrency, limits.interval AS group_interval,
    limits.burst AS group_burst
  FROM unnest(v_queue_types) WITH ORDINALITY AS h (queue_type, place)
  LEFT JOIN ${limitRule} AS rule ON rule.queue = p_queue AND rule.queue_type = h.queue_type
  LEFT JOIN ${limitUsage} AS u ON u.queue = p_queue AND u.queue_type = h.queue_type
  LEFT JOIN ${groupState} AS own ON own.claim_key = h.queue_type
  CROSS JOIN LATERAL (${groupLimitsSql("rule", "q")}) AS limits
  WHERE NOT coalesce(${leftOut}, false)
  ORDER BY place`;

/**
 * Whether a group is claimable or throttled, and when it becomes claimable: a table `state`. The group given has claim_key,
 * running, bucket_full_at, ordered, stopped_by, paused_until, its limits concurrency, interval and burst, and `waits`: whether jobs wait,
 * or null to read that from the index. That read takes no locks: a group whose jobs are locked is not empty.
 */
export const stateSql = ({ job }: Tables, of: string): string => `LATERAL (
  SELECT is_claimable AS claimable, waits AND NOT is_claimable AS throttled,
    CASE WHEN waits AND NOT ${isHeldSql(of)} AND has_room THEN greatest(token_at, retry_at) ELSE 0 END AS claimable_at
  FROM (
    SELECT *, waits AND NOT ${isHeldSql(of)} AND has_room AND token_at = 0 AND retry_at = 0 AS is_claimable FROM (
      SELECT coalesce(${of}.waits, head.lease_version IS NOT NULL) AS waits,
        ${of}.concurrency IS NULL OR ${of}.running < ${of}.concurrency AS has_room,
        greatest(${nextTokenSql(`${of}.bucket_full_at`, `${of}.interval`, `${of}.burst`)}, ${pauseEndSql(of)}) AS token_at,
        CASE WHEN ${of}.ordered AND head.lease_version = 0 THEN coalesce((
          SELECT j.due_at FROM ${job} AS j
          WHERE j.claim_key = ${of}.claim_key AND j.ordered IS NOT NULL AND j.status = 'pending' AND NOT j.ready
            AND j.lease_version > 0
          ORDER BY j.due_at LIMIT 1
        ), 0) ELSE 0 END AS retry_at
      FROM (SELECT) AS always LEFT JOIN LATERAL (
        SELECT j.lease_version FROM ${job} AS j WHERE ${of}.waits IS NULL AND j.ready AND j.claim_key = ${of}.claim_key
        ORDER BY ${runOrder} LIMIT 1
      ) AS head ON true
    ) AS found
  ) AS decided
) AS state`;
