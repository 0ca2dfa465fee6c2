import type { Tables } from "../../database/tables.ts";
import { editsSql } from "./apply-edits.ts";
import {
  define,
  deltasPerPass,
  isPausedSql,
  limitOfGroupSql,
  lockSql,
  presentSql,
  runOrder,
  spendSql,
  stateSql,
  tokensSql,
  typesSql,
  virtualTimePerJob,
} from "./shared.ts";

// A pass claims from at most this many groups, and more jobs from each: fewer rows of groups are written.
const groupsPerPass = 16;

/** Jobs of ordered groups that have begun get this priority, so that they stay first in their group. */
const highestPriority = 2_147_483_647;

const limitColumns = {
  concurrency: "t.group_concurrency",
  interval: "t.group_interval",
  bucket: "t.group_burst",
} as const;

/** A limit of a group of the type `t`. */
const limitOf = (group: string, limit: keyof typeof limitColumns): string =>
  `(${limitOfGroupSql("t", `${group}.group_key`, limit, limitColumns[limit])})`;

/**
 * The first jobs of a type `t` that its limits admit, up to `v_size`: `sized` has the groups in turn with their portions, and
 * `picked` the jobs, up to `most`. Every step reads along the index of claimable groups, so the jobs come by virtual time
 * without a sort.
 */
const picksSql = ({ job, groupState }: Tables, columns: string, most: string, lock: string): string => `
        WITH first AS MATERIALIZED (
          SELECT g.ctid AS place_of_group, g.claim_key, g.virtual_time, g.ordered,
            row_number() OVER (ORDER BY g.virtual_time, g.claim_key) AS place,
            CASE WHEN g.claim_key = t.queue_type THEN NULL WHEN g.ordered THEN 1 ELSE ${limitOf("g", "concurrency")} END AS concurrency,
            least(CASE WHEN g.claim_key = t.queue_type THEN NULL WHEN g.ordered THEN 1 ELSE ${limitOf("g", "concurrency")} END - g.running,
              CASE WHEN g.claim_key = t.queue_type THEN NULL
                ELSE ${tokensSql("g.bucket_full_at", limitOf("g", "interval"), limitOf("g", "bucket"))} END) AS most,
            coalesce((t.weights ->> g.group_key)::float8, (q.weights ->> g.group_key)::float8, 1) AS weight
          FROM (
            SELECT o.ctid, o.* FROM ${groupState} AS o WHERE o.queue_type = t.queue_type AND o.claimable
            ORDER BY o.virtual_time, o.claim_key LIMIT v_size
          ) AS g
        ),
        sized AS MATERIALIZED (
          SELECT *, greatest(0, least(v_size, most,
            ceil(ceil(v_size::float8 / least(count(*) OVER (), ${groupsPerPass})) * weight / avg(weight) OVER ())))::int AS portion
          FROM first
        ),
        picked AS MATERIALIZED (
          SELECT s.place, s.ordered, s.concurrency, head.* FROM sized AS s CROSS JOIN LATERAL (
            SELECT ${columns} FROM ${job} AS j WHERE j.ready AND j.claim_key = s.claim_key AND j.due_at <= v_at
            ORDER BY ${runOrder} LIMIT s.portion ${lock}
          ) AS head LIMIT ${most}
        )`;

/**
 * Claims jobs of one queue. Between its types the order of claims decides; between the groups of a type start-time fair
 * queueing: the group with the smallest virtual time comes first, and each claimed job raises it. An idle group returns with
 * the virtual time that its type serves at present. Each pass claims a portion from each group, until a pass finds nothing.
 *
 * With several types, a pass first reads the jobs that each type would give. Each type gives its jobs in the order of its
 * turns, so a job comes no earlier than the last of the jobs before it: sorted by that job, the first `v_left` show how many to
 * claim of each type. Portions may hide jobs of a type that come next: other types then give nothing behind its last job that
 * was read, until the next pass.
 */
export const claimSql = (tables: Tables): string => {
  const { schema, job, groupState, limitRule, limitUsage } = tables;
  return define(
    `${schema}.limit_claim`,
    `p_now bigint, p_queue text, p_queue_types bigint[], p_attempts int[], p_limit int,
  p_lease_ms bigint, p_token text, p_worker text, p_deployment text`,
    `SETOF ${job}`,
    `
DECLARE
  v_at bigint;
  v_us bigint;
  v_queue_types bigint[] := p_queue_types;
  v_active bigint[];
  v_wanted bigint := p_limit;
  v_left bigint;
  v_size int;
  v_ask int;
  v_sizes int[];
  v_quotas int[];
  v_types bigint[];
  v_priorities bigint[];
  v_times bigint[];
  v_positions bigint[];
  v_bound bigint[];
  v_more record;
  v_count int;
  v_applied int;
  v_places tid[];
  v_counted_in int[];
  v_ordered boolean[];
  v_groups tid[];
  v_counts int[];
  v_short boolean[];
  v_virtual_times bigint[];
  v_served bigint;
  q ${limitRule}%ROWTYPE;
  qu ${limitUsage}%ROWTYPE;
  t record;
BEGIN
  ${lockSql(tables)}
  v_at := ${presentSql};
  v_us := v_at * 1000;
  SELECT * INTO q FROM ${limitRule} AS r WHERE r.queue = p_queue AND r.queue_type = 0;
  IF ${isPausedSql("q")} THEN RETURN; END IF;
  -- These checks cost less than the statements that they guard, which rarely find a job.
  IF EXISTS (
    SELECT FROM unnest(p_queue_types) AS number WHERE EXISTS (
      SELECT FROM ${job} AS j WHERE j.status = 'pending' AND NOT j.ready AND j.claim_key = number AND j.due_at <= v_at
    ) OR EXISTS (
      SELECT FROM ${job} AS j
      WHERE j.status = 'pending' AND NOT j.ready AND j.queue_type IS NOT NULL AND j.queue_type = number AND j.due_at <= v_at
    )
  ) THEN PERFORM ${schema}.limit_promote_due(v_at, p_queue_types); END IF;
  IF (SELECT j.due_at FROM ${job} AS j WHERE j.status = 'running' ORDER BY j.due_at LIMIT 1) <= v_at
  THEN PERFORM ${schema}.limit_reap(v_at, p_queue_types, p_attempts); END IF;
  ${editsSql(tables)}
  LOOP
    v_applied := ${schema}.limit_apply_deltas(v_at, p_queue);
    SELECT * INTO qu FROM ${limitUsage} AS u WHERE u.queue = p_queue AND u.queue_type = 0;
    IF NOT FOUND THEN
      INSERT INTO ${limitUsage} AS u (queue, queue_type) VALUES (p_queue, 0) RETURNING * INTO qu;
    END IF;
    v_left := least(v_wanted, q.concurrency - qu.running,
      ${tokensSql("qu.bucket_full_at", "q.rate_interval", "q.rate_bucket")});
    v_queue_types := p_queue_types;
    WHILE v_left > 0 AND cardinality(v_queue_types) > 0 LOOP
      v_active := '{}';
      v_sizes := '{}';
      v_types := '{}';
      v_priorities := '{}';
      v_times := '{}';
      v_positions := '{}';
      v_bound := NULL;
      FOR t IN ${typesSql(tables)} LOOP
        IF t.is_new THEN
          INSERT INTO ${limitUsage} (queue, queue_type) VALUES (p_queue, t.queue_type) ON CONFLICT DO NOTHING;
          INSERT INTO ${groupState} (claim_key, queue, queue_type) VALUES (t.queue_type, p_queue, t.queue_type);
        END IF;
        v_size := least(v_left, t.concurrency - t.running,
          ${tokensSql("t.bucket_full_at", "t.rate_interval", "t.rate_bucket")});
        CONTINUE WHEN v_size <= 0;

        -- Jobs without a group insert no deltas: the index of ready jobs shows whether any wait.
        IF (SELECT g.claimable FROM ${groupState} AS g WHERE g.claim_key = t.queue_type)
          <> EXISTS (SELECT FROM ${job} AS j WHERE j.ready AND j.claim_key = t.queue_type)
        THEN
          UPDATE ${groupState} AS g SET claimable = NOT g.claimable,
            virtual_time = CASE WHEN g.claimable THEN g.virtual_time ELSE greatest(g.virtual_time, t.served_virtual_time) END
          WHERE g.claim_key = t.queue_type;
        END IF;
        CONTINUE WHEN NOT EXISTS (SELECT FROM ${groupState} AS g WHERE g.queue_type = t.queue_type AND g.claimable);
        v_active := v_active || t.queue_type;
        v_sizes := v_sizes || v_size;
        CONTINUE WHEN cardinality(v_queue_types) = 1;
        ${picksSql(tables, "coalesce(j.given_priority, j.priority) AS priority, j.due_at, j.position", "v_size", "")}
        SELECT array_agg(last[1]) AS priorities, array_agg(last[2]) AS times, array_agg(last[3]) AS positions, max(last) AS bound,
          count(*) < v_size AND (SELECT count(*) = v_size OR bool_or(s.portion < coalesce(s.most, v_size)
            AND s.portion = (SELECT count(*) FROM picked AS p WHERE p.place = s.place)) FROM sized AS s) AS has_more
        FROM (
          SELECT max(ARRAY[-p.priority, p.due_at, p.position]) OVER (ROWS UNBOUNDED PRECEDING) AS last FROM picked AS p
        ) AS jobs INTO v_more;
        v_types := v_types || array_fill(t.queue_type, ARRAY[coalesce(cardinality(v_more.priorities), 0)]);
        v_priorities := v_priorities || v_more.priorities;
        v_times := v_times || v_more.times;
        v_positions := v_positions || v_more.positions;
        IF v_more.has_more THEN v_bound := least(v_bound, v_more.bound); END IF;
      END LOOP;
      v_queue_types := v_active;
      IF cardinality(v_types) = 0 THEN v_quotas := v_sizes;
      ELSE
        SELECT array_agg((
          SELECT count(*) FROM (
            SELECT c.queue_type FROM unnest(v_types, v_priorities, v_times, v_positions) AS c (queue_type, priority, due_at, position)
            WHERE v_bound IS NULL OR ARRAY[c.priority, c.due_at, c.position] <= v_bound
            ORDER BY c.priority, c.due_at, c.position LIMIT v_left
          ) AS chosen WHERE chosen.queue_type = each.queue_type
        ) ORDER BY each.place) INTO v_quotas FROM unnest(v_active) WITH ORDINALITY AS each (queue_type, place);
      END IF;
      FOR t IN ${typesSql(tables)} LOOP
        v_size := v_sizes[array_position(v_active, t.queue_type)];
        v_ask := v_quotas[array_position(v_active, t.queue_type)];
        CONTINUE WHEN coalesce(v_ask, 0) <= 0;
        ${picksSql(tables, "j.ctid", "v_ask", "FOR NO KEY UPDATE SKIP LOCKED")},
        reached AS MATERIALIZED (
          SELECT place, min(place_of_group) AS place_of_group, min(virtual_time) AS virtual_time, min(weight) AS weight,
            min(portion) AS portion, sum(taken) AS taken
          FROM (
            SELECT s.place, s.place_of_group, s.virtual_time, s.weight, s.portion, 0 AS taken FROM sized AS s
            UNION ALL SELECT p.place, NULL, NULL, NULL, NULL, 1 FROM picked AS p
          ) AS both_sides
          WHERE place <= (SELECT max(p.place) FROM picked AS p) OR (SELECT count(*) FROM picked) < v_ask
          GROUP BY place
        ),
        jobs AS (
          SELECT array_agg(p.ctid) AS places, array_agg(p.ordered) AS ordered,
            array_agg(CASE WHEN p.concurrency IS NULL THEN 0 ELSE 1 END) AS counted_in
          FROM picked AS p
        )
        SELECT jobs.places, jobs.counted_in, jobs.ordered, groups.* FROM jobs CROSS JOIN (
          SELECT array_agg(r.place_of_group), array_agg(r.taken::int), array_agg(r.taken < r.portion),
            array_agg(r.virtual_time + (r.taken * ${virtualTimePerJob} / r.weight)::bigint),
            max(r.virtual_time + ((r.taken - 1) * ${virtualTimePerJob} / r.weight)::bigint) FILTER (WHERE r.taken > 0)
          FROM reached AS r
        ) AS groups
        INTO v_places, v_counted_in, v_ordered, v_groups, v_counts, v_short, v_virtual_times, v_served;

        -- A nested loop over the list returns the jobs in the order in which they were picked.
        RETURN QUERY UPDATE ${job} AS j SET
          status = 'running',
          ready = false,
          due_at = v_at + coalesce(j.lease_ms, p_lease_ms),
          attempt = j.attempt + 1,
          lease_token = p_token,
          lease_version = j.lease_version + 1,
          leased_by = p_worker,
          deployment = p_deployment,
          last_attempt_at = v_at,
          counted_in = nullif(taken.counted_in | CASE WHEN t.concurrency IS NULL THEN 0 ELSE 2 END
            | CASE WHEN q.concurrency IS NULL THEN 0 ELSE 4 END, 0),
          given_priority = CASE WHEN taken.ordered THEN coalesce(j.given_priority, j.priority) ELSE j.given_priority END,
          priority = CASE WHEN taken.ordered THEN ${highestPriority} ELSE j.priority END
        FROM (
          SELECT * FROM unnest(v_places, v_counted_in, v_ordered) LIMIT (SELECT 2147483647)
        ) AS taken (ctid, counted_in, ordered)
        WHERE j.ctid = taken.ctid RETURNING j.*;
        GET DIAGNOSTICS v_count = ROW_COUNT;
        IF v_count <> coalesce(cardinality(v_places), 0) THEN
          RAISE EXCEPTION 'leasehold: % of % jobs were taken', v_count, cardinality(v_places) USING ERRCODE = '40001';
        END IF;

        UPDATE ${groupState} AS g SET
          running = c.running, bucket_full_at = c.bucket_full_at, virtual_time = c.virtual_time, claimable = state.claimable,
          throttled = state.throttled, claimable_at = state.claimable_at,
          backlog = CASE WHEN c.claim_key = t.queue_type THEN NULL WHEN NOT state.claimable AND NOT state.throttled THEN 0
            WHEN c.backlog > 0 THEN c.backlog END
        FROM (
          SELECT o.ctid AS place, o.claim_key, o.ordered, o.stopped_by, o.paused_until, s.virtual_time, o.backlog - s.taken AS backlog,
            CASE WHEN NOT s.is_short AND NOT o.ordered THEN o.backlog > s.taken END AS waits,
            CASE WHEN o.claim_key = t.queue_type THEN NULL WHEN o.ordered THEN 1 ELSE ${limitOf("o", "concurrency")} END AS concurrency,
            CASE WHEN o.claim_key = t.queue_type THEN NULL ELSE ${limitOf("o", "interval")} END AS interval,
            ${limitOf("o", "bucket")} AS burst,
            o.running + CASE WHEN o.claim_key <> t.queue_type AND (o.ordered OR ${limitOf("o", "concurrency")} IS NOT NULL)
              THEN s.taken ELSE 0 END AS running,
            CASE WHEN o.claim_key = t.queue_type THEN 0
              ELSE ${spendSql("o.bucket_full_at", limitOf("o", "interval"), "s.taken")} END AS bucket_full_at
          FROM (SELECT * FROM unnest(v_groups, v_counts, v_short, v_virtual_times) LIMIT (SELECT 2147483647))
            AS s (place_of_group, taken, is_short, virtual_time)
          JOIN ${groupState} AS o ON o.ctid = s.place_of_group
        ) AS c CROSS JOIN ${stateSql(tables, "c")}
        WHERE g.ctid = c.place;

        UPDATE ${limitUsage} AS u SET
          running = u.running + CASE WHEN t.concurrency IS NULL THEN 0 ELSE v_count END,
          bucket_full_at = ${spendSql("u.bucket_full_at", "t.rate_interval", "v_count")},
          served_virtual_time = greatest(u.served_virtual_time, v_served)
        WHERE u.queue = p_queue AND u.queue_type = t.queue_type AND v_count > 0;
        IF v_count = 0 THEN v_queue_types := array_remove(v_queue_types, t.queue_type);
        ELSE
          qu.running := qu.running + CASE WHEN q.concurrency IS NULL THEN 0 ELSE v_count END;
          qu.bucket_full_at := ${spendSql("qu.bucket_full_at", "q.rate_interval", "v_count")};
          v_left := v_left - v_count;
          v_wanted := v_wanted - v_count;
        END IF;
      END LOOP;
    END LOOP;
    UPDATE ${limitUsage} AS u SET running = qu.running, bucket_full_at = qu.bucket_full_at
    WHERE u.queue = p_queue AND u.queue_type = 0
      AND (u.running, u.bucket_full_at) <> (qu.running, qu.bucket_full_at);
    EXIT WHEN v_wanted <= 0 OR v_applied < ${deltasPerPass};
  END LOOP;
END`,
  );
};
