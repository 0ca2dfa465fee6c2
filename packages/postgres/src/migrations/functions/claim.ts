import type { Tables } from "../../database/tables.ts";
import {
  define,
  deltasPerPass,
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

/**
 * Claims jobs of one queue by start-time fair queueing. Types share what can be claimed, and what one type does not use goes
 * to the others; groups share what their type gets. The group or type with the smallest virtual time comes first, and each
 * claimed job raises it. An idle group returns with the virtual time that its type serves at present. Each pass claims a
 * portion from each group, until a pass finds nothing.
 */
export const claimSql = (tables: Tables): string => {
  const { schema, job, groupState, limitRule, limitUsage } = tables;
  return define(
    `${schema}.limit_claim`,
    `p_now bigint, p_queue text, p_queue_types bigint[], p_attempts int[], p_limit int,
  p_lease_ms bigint, p_token text, p_worker text`,
    `SETOF ${job}`,
    `
DECLARE
  v_at bigint;
  v_us bigint;
  v_queue_types bigint[] := p_queue_types;
  v_active bigint[];
  v_wanted bigint := p_limit;
  v_left bigint;
  v_share bigint;
  v_ask int;
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
  IF q.paused THEN RETURN; END IF;
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
  LOOP
    v_applied := ${schema}.limit_apply_deltas(v_at, p_queue);
    SELECT * INTO qu FROM ${limitUsage} AS u WHERE u.queue = p_queue AND u.queue_type = 0;
    IF NOT FOUND THEN
      INSERT INTO ${limitUsage} AS u (queue, queue_type) VALUES (p_queue, 0) RETURNING * INTO qu;
    END IF;
    v_left := least(v_wanted, q.concurrency - qu.running,
      ${tokensSql("qu.bucket_full_at", "q.rate_interval", "q.rate_burst")});
    v_queue_types := p_queue_types;
    WHILE v_left > 0 AND cardinality(v_queue_types) > 0 LOOP
      v_active := '{}';
      v_share := ceil(v_left::float8 / cardinality(v_queue_types));
      FOR t IN ${typesSql(tables)} LOOP
        EXIT WHEN v_left <= 0;
        IF t.is_new THEN
          INSERT INTO ${limitUsage} AS u (queue, queue_type, virtual_time) VALUES (p_queue, t.queue_type, qu.served_virtual_time)
          ON CONFLICT (queue, queue_type) DO UPDATE SET virtual_time = greatest(u.virtual_time, excluded.virtual_time);
          INSERT INTO ${groupState} (claim_key, queue, queue_type) VALUES (t.queue_type, p_queue, t.queue_type);
        END IF;
        v_ask := least(v_left, v_share, t.concurrency - t.running,
          ${tokensSql("t.bucket_full_at", "t.rate_interval", "t.rate_burst")});
        CONTINUE WHEN v_ask <= 0;

        -- Jobs without a group insert no deltas: the index of ready jobs shows whether any wait.
        IF (SELECT g.claimable FROM ${groupState} AS g WHERE g.claim_key = t.queue_type)
          <> EXISTS (SELECT FROM ${job} AS j WHERE j.ready AND j.claim_key = t.queue_type)
        THEN
          UPDATE ${groupState} AS g SET claimable = NOT g.claimable,
            virtual_time = CASE WHEN g.claimable THEN g.virtual_time ELSE greatest(g.virtual_time, t.served_virtual_time) END
          WHERE g.claim_key = t.queue_type;
        END IF;

        -- Every step reads along the index of claimable groups, so the jobs come by virtual time without a sort.
        WITH first AS MATERIALIZED (
          SELECT g.ctid AS place_of_group, g.claim_key, g.virtual_time, g.ordered,
            row_number() OVER (ORDER BY g.virtual_time, g.claim_key) AS place,
            CASE WHEN g.claim_key = t.queue_type THEN NULL WHEN g.ordered THEN 1 ELSE t.group_concurrency END AS concurrency,
            least(CASE WHEN g.claim_key = t.queue_type THEN NULL WHEN g.ordered THEN 1 ELSE t.group_concurrency END - g.running,
              CASE WHEN g.claim_key = t.queue_type THEN NULL
                ELSE ${tokensSql("g.bucket_full_at", "t.group_interval", "t.group_burst")} END) AS most,
            coalesce((t.weights ->> g.group_key)::float8, (q.weights ->> g.group_key)::float8, 1) AS weight
          FROM (
            SELECT o.ctid, o.* FROM ${groupState} AS o WHERE o.queue_type = t.queue_type AND o.claimable
            ORDER BY o.virtual_time, o.claim_key LIMIT v_ask
          ) AS g
        ),
        sized AS MATERIALIZED (
          SELECT *, greatest(0, least(v_ask, most,
            ceil(ceil(v_ask::float8 / least(count(*) OVER (), ${groupsPerPass})) * weight / avg(weight) OVER ())))::int AS portion
          FROM first
        ),
        picked AS MATERIALIZED (
          SELECT s.place, s.ordered, s.concurrency, head.ctid FROM sized AS s CROSS JOIN LATERAL (
            SELECT j.ctid FROM ${job} AS j WHERE j.ready AND j.claim_key = s.claim_key AND j.due_at <= v_at
            ORDER BY ${runOrder} LIMIT s.portion FOR NO KEY UPDATE SKIP LOCKED
          ) AS head LIMIT v_ask
        ),
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
          SELECT o.ctid AS place, o.claim_key, o.ordered, o.stopped_by, s.virtual_time, o.backlog - s.taken AS backlog,
            CASE WHEN NOT s.is_short AND NOT o.ordered THEN o.backlog > s.taken END AS waits,
            CASE WHEN o.claim_key = t.queue_type THEN NULL WHEN o.ordered THEN 1 ELSE t.group_concurrency END AS concurrency,
            CASE WHEN o.claim_key = t.queue_type THEN NULL ELSE t.group_interval END AS interval, t.group_burst AS burst,
            o.running + CASE WHEN o.claim_key <> t.queue_type AND (o.ordered OR t.group_concurrency IS NOT NULL)
              THEN s.taken ELSE 0 END AS running,
            CASE WHEN o.claim_key = t.queue_type THEN 0
              ELSE ${spendSql("o.bucket_full_at", "t.group_interval", "s.taken")} END AS bucket_full_at
          FROM (SELECT * FROM unnest(v_groups, v_counts, v_short, v_virtual_times) LIMIT (SELECT 2147483647))
            AS s (place_of_group, taken, is_short, virtual_time)
          JOIN ${groupState} AS o ON o.ctid = s.place_of_group
        ) AS c CROSS JOIN ${stateSql(tables, "c")}
        WHERE g.ctid = c.place;

        UPDATE ${limitUsage} AS u SET
          running = u.running + CASE WHEN t.concurrency IS NULL THEN 0 ELSE v_count END,
          bucket_full_at = ${spendSql("u.bucket_full_at", "t.rate_interval", "v_count")},
          virtual_time = CASE WHEN v_count = 0 THEN greatest(u.virtual_time, qu.served_virtual_time)
            ELSE u.virtual_time + v_count * ${virtualTimePerJob}::bigint END,
          served_virtual_time = greatest(u.served_virtual_time, v_served)
        WHERE u.queue = p_queue AND u.queue_type = t.queue_type AND (v_count > 0 OR u.virtual_time < qu.served_virtual_time);
        IF v_count > 0 THEN
          qu.served_virtual_time :=
            greatest(qu.served_virtual_time, t.virtual_time + (v_count - 1) * ${virtualTimePerJob}::bigint);
          qu.running := qu.running + CASE WHEN q.concurrency IS NULL THEN 0 ELSE v_count END;
          qu.bucket_full_at := ${spendSql("qu.bucket_full_at", "q.rate_interval", "v_count")};
          v_left := v_left - v_count;
          v_wanted := v_wanted - v_count;
          v_active := v_active || t.queue_type;
        END IF;
      END LOOP;
      v_queue_types := v_active;
    END LOOP;
    UPDATE ${limitUsage} AS u SET running = qu.running, bucket_full_at = qu.bucket_full_at,
      served_virtual_time = qu.served_virtual_time
    WHERE u.queue = p_queue AND u.queue_type = 0
      AND (u.running, u.bucket_full_at, u.served_virtual_time) <> (qu.running, qu.bucket_full_at, qu.served_virtual_time);
    EXIT WHEN v_wanted <= 0 OR v_applied < ${deltasPerPass};
  END LOOP;
END`,
  );
};
