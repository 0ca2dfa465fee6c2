import type { Tables } from "../../database/tables.ts";
import {
  define,
  foldLimit,
  highestPriority,
  linesPerLook,
  lockSql,
  nextTokenSql,
  presentSql,
  runOrder,
  spendSql,
  tokensSql,
  typesSql,
  unit,
} from "./shared.ts";

/**
 * Whether a line is open, held, and until when: a table \`state\`. Of the line given: number, running, tat, ordered,
 * stopped_by, room (its limit), interval, burst, and waits: whether something is in it, null if that has to be looked up.
 * A line is closed as empty only if a look without locks finds nothing.
 */
export const stateSql = ({ job }: Tables, of: string): string => `LATERAL (
  SELECT is_open AS open, waits AND NOT is_open AS held,
    CASE WHEN waits AND ${of}.stopped_by IS NULL AND has_room THEN greatest(token_at, retry_at) ELSE 0 END AS opens_at
  FROM (
    SELECT *, waits AND ${of}.stopped_by IS NULL AND has_room AND token_at = 0 AND retry_at = 0 AS is_open FROM (
      SELECT coalesce(${of}.waits, head.lease_version IS NOT NULL) AS waits,
        ${of}.room IS NULL OR ${of}.running < ${of}.room AS has_room,
        ${nextTokenSql(`${of}.tat`, `${of}.interval`, `${of}.burst`)} AS token_at,
        CASE WHEN ${of}.ordered AND head.lease_version = 0 THEN coalesce((
          SELECT j.due_at FROM ${job} AS j
          WHERE j.lane = ${of}.number AND j.ordered IS NOT NULL AND j.status = 'pending' AND NOT j.ready AND j.lease_version > 0
          ORDER BY j.due_at LIMIT 1
        ), 0) ELSE 0 END AS retry_at
      FROM (SELECT) AS always LEFT JOIN LATERAL (
        SELECT j.lease_version FROM ${job} AS j WHERE ${of}.waits IS NULL AND j.ready AND j.lane = ${of}.number
        ORDER BY ${runOrder} LIMIT 1
      ) AS head ON true
    ) AS seen
  ) AS judged
) AS state`;

/**
 * Takes jobs of one queue. The types share what there is to take, and what one does not use goes to the others; so do the
 * lines of a type. Each look takes a portion of each line; there are looks until nothing more is found.
 */
export const claimSql = (tables: Tables): string => {
  const { schema, job, line, flowRule, flowUse } = tables;
  return define(
    `${schema}.flow_claim`,
    `p_now bigint, p_queue text, p_homes bigint[], p_attempts int[], p_limit int,
  p_lease_ms bigint, p_token text, p_worker text`,
    `SETOF ${job}`,
    `
DECLARE
  v_at bigint;
  v_us bigint;
  v_homes bigint[] := p_homes;
  v_active bigint[];
  v_wanted bigint := p_limit;
  v_left bigint;
  v_share bigint;
  v_ask int;
  v_count int;
  v_folded int;
  v_places tid[];
  v_slots int[];
  v_firsts boolean[];
  v_lines tid[];
  v_counts int[];
  v_short boolean[];
  v_turns bigint[];
  v_round bigint;
  q ${flowRule}%ROWTYPE;
  qu ${flowUse}%ROWTYPE;
  t record;
BEGIN
  ${lockSql(tables)}
  v_at := ${presentSql};
  v_us := v_at * 1000;
  SELECT * INTO q FROM ${flowRule} AS r WHERE r.queue = p_queue AND r.home = 0;
  IF q.paused THEN RETURN; END IF;
  -- To ask first costs less than to begin with what hardly ever finds something to do.
  IF EXISTS (
    SELECT FROM unnest(p_homes) AS number WHERE EXISTS (
      SELECT FROM ${job} AS j WHERE j.status = 'pending' AND NOT j.ready AND j.lane = number AND j.due_at <= v_at
    ) OR EXISTS (
      SELECT FROM ${job} AS j
      WHERE j.status = 'pending' AND NOT j.ready AND j.home IS NOT NULL AND j.home = number AND j.due_at <= v_at
    )
  ) THEN PERFORM ${schema}.flow_promote(v_at, p_homes); END IF;
  IF (SELECT j.due_at FROM ${job} AS j WHERE j.status = 'running' ORDER BY j.due_at LIMIT 1) <= v_at
  THEN PERFORM ${schema}.flow_reap(v_at, p_homes, p_attempts); END IF;
  LOOP
    v_folded := ${schema}.flow_fold(v_at, p_queue);
    SELECT * INTO qu FROM ${flowUse} AS u WHERE u.queue = p_queue AND u.home = 0;
    IF NOT FOUND THEN
      INSERT INTO ${flowUse} AS u (queue, home) VALUES (p_queue, 0) RETURNING * INTO qu;
    END IF;
    v_left := least(v_wanted, q.concurrency - qu.running,
      ${tokensSql("qu.tat", "q.rate_interval", "q.rate_burst")});
    v_homes := p_homes;
    WHILE v_left > 0 AND cardinality(v_homes) > 0 LOOP
      v_active := '{}';
      v_share := ceil(v_left::float8 / cardinality(v_homes));
      FOR t IN ${typesSql(tables)} LOOP
        EXIT WHEN v_left <= 0;
        IF t.is_new THEN
          INSERT INTO ${flowUse} AS u (queue, home, turn) VALUES (p_queue, t.home, qu.round)
          ON CONFLICT (queue, home) DO UPDATE SET turn = greatest(u.turn, excluded.turn);
          INSERT INTO ${line} (number, queue, home) VALUES (t.home, p_queue, t.home);
        END IF;
        v_ask := least(v_left, v_share, t.concurrency - t.running,
          ${tokensSql("t.tat", "t.rate_interval", "t.rate_burst")});
        CONTINUE WHEN v_ask <= 0;

        -- Jobs without a group leave no notes: whether any wait is seen by looking.
        IF (SELECT l.open FROM ${line} AS l WHERE l.number = t.home)
          <> EXISTS (SELECT FROM ${job} AS j WHERE j.ready AND j.lane = t.home)
        THEN
          UPDATE ${line} AS l SET open = NOT l.open, turn = CASE WHEN l.open THEN l.turn ELSE greatest(l.turn, t.round) END
          WHERE l.number = t.home;
        END IF;

        -- All of this goes along the index of open lines, so the jobs come in the order of turns without being sorted.
        WITH first AS MATERIALIZED (
          SELECT l.ctid AS line, l.number, l.turn, l.ordered, row_number() OVER (ORDER BY l.turn, l.number) AS place,
            CASE WHEN l.number = t.home THEN NULL WHEN l.ordered THEN 1 ELSE t.group_room END AS room,
            least(CASE WHEN l.number = t.home THEN NULL WHEN l.ordered THEN 1 ELSE t.group_room END - l.running,
              CASE WHEN l.number = t.home THEN NULL ELSE ${tokensSql("l.tat", "t.group_interval", "t.group_burst")} END) AS most,
            coalesce((t.weights ->> l.group_key)::float8, (q.weights ->> l.group_key)::float8, 1) AS weight
          FROM (
            SELECT o.ctid, o.* FROM ${line} AS o WHERE o.home = t.home AND o.open ORDER BY o.turn, o.number LIMIT v_ask
          ) AS l
        ),
        sized AS MATERIALIZED (
          SELECT *, greatest(0, least(v_ask, most,
            ceil(ceil(v_ask::float8 / least(count(*) OVER (), ${linesPerLook})) * weight / avg(weight) OVER ())))::int AS portion
          FROM first
        ),
        picked AS MATERIALIZED (
          SELECT s.place, s.ordered, s.room, head.ctid FROM sized AS s CROSS JOIN LATERAL (
            SELECT j.ctid FROM ${job} AS j WHERE j.ready AND j.lane = s.number AND j.due_at <= v_at
            ORDER BY ${runOrder} LIMIT s.portion FOR NO KEY UPDATE SKIP LOCKED
          ) AS head LIMIT v_ask
        ),
        reached AS MATERIALIZED (
          SELECT place, min(line) AS line, min(turn) AS turn, min(weight) AS weight, min(portion) AS portion, sum(taken) AS taken
          FROM (
            SELECT s.place, s.line, s.turn, s.weight, s.portion, 0 AS taken FROM sized AS s
            UNION ALL SELECT p.place, NULL, NULL, NULL, NULL, 1 FROM picked AS p
          ) AS looks
          WHERE place <= (SELECT max(p.place) FROM picked AS p) OR (SELECT count(*) FROM picked) < v_ask
          GROUP BY place
        ),
        jobs AS (
          SELECT array_agg(p.ctid) AS places, array_agg(p.ordered) AS firsts,
            array_agg(CASE WHEN p.room IS NULL THEN 0 ELSE 1 END) AS slots
          FROM picked AS p
        )
        SELECT jobs.places, jobs.slots, jobs.firsts, lines.* FROM jobs CROSS JOIN (
          SELECT array_agg(r.line), array_agg(r.taken::int), array_agg(r.taken < r.portion), array_agg(r.turn + (r.taken * ${unit} / r.weight)::bigint),
            max(r.turn + ((r.taken - 1) * ${unit} / r.weight)::bigint) FILTER (WHERE r.taken > 0)
          FROM reached AS r
        ) AS lines
        INTO v_places, v_slots, v_firsts, v_lines, v_counts, v_short, v_turns, v_round;

        -- In the order in which they were picked: there is no other way to go than along the list.
        RETURN QUERY UPDATE ${job} AS j SET
          status = 'running',
          ready = false,
          due_at = v_at + coalesce(j.lease_ms, p_lease_ms),
          attempt = j.attempt + 1,
          lease_token = p_token,
          lease_version = j.lease_version + 1,
          leased_by = p_worker,
          last_attempt_at = v_at,
          slots = nullif(taken.slots | CASE WHEN t.concurrency IS NULL THEN 0 ELSE 2 END
            | CASE WHEN q.concurrency IS NULL THEN 0 ELSE 4 END, 0),
          base_priority = CASE WHEN taken.ordered THEN coalesce(j.base_priority, j.priority) ELSE j.base_priority END,
          priority = CASE WHEN taken.ordered THEN ${highestPriority} ELSE j.priority END
        FROM (
          SELECT * FROM unnest(v_places, v_slots, v_firsts) LIMIT (SELECT 2147483647)
        ) AS taken (ctid, slots, ordered)
        WHERE j.ctid = taken.ctid RETURNING j.*;
        GET DIAGNOSTICS v_count = ROW_COUNT;
        IF v_count <> coalesce(cardinality(v_places), 0) THEN
          RAISE EXCEPTION 'leasehold: % of % jobs were taken', v_count, cardinality(v_places) USING ERRCODE = '40001';
        END IF;

        UPDATE ${line} AS l SET
          running = c.running, tat = c.tat, turn = c.turn, open = state.open, held = state.held, opens_at = state.opens_at,
          backlog = CASE WHEN c.number = t.home THEN NULL WHEN NOT state.open AND NOT state.held THEN 0
            WHEN c.backlog > 0 THEN c.backlog END
        FROM (
          SELECT o.ctid AS place, o.number, o.ordered, o.stopped_by, s.turn, o.backlog - s.taken AS backlog,
            CASE WHEN NOT s.is_short AND NOT o.ordered THEN o.backlog > s.taken END AS waits,
            CASE WHEN o.number = t.home THEN NULL WHEN o.ordered THEN 1 ELSE t.group_room END AS room,
            CASE WHEN o.number = t.home THEN NULL ELSE t.group_interval END AS interval, t.group_burst AS burst,
            o.running + CASE WHEN o.number <> t.home AND (o.ordered OR t.group_room IS NOT NULL) THEN s.taken ELSE 0 END AS running,
            CASE WHEN o.number = t.home THEN 0 ELSE ${spendSql("o.tat", "t.group_interval", "s.taken")} END AS tat
          FROM (SELECT * FROM unnest(v_lines, v_counts, v_short, v_turns) LIMIT (SELECT 2147483647))
            AS s (line, taken, is_short, turn)
          JOIN ${line} AS o ON o.ctid = s.line
        ) AS c CROSS JOIN ${stateSql(tables, "c")}
        WHERE l.ctid = c.place;

        UPDATE ${flowUse} AS u SET
          running = u.running + CASE WHEN t.concurrency IS NULL THEN 0 ELSE v_count END,
          tat = ${spendSql("u.tat", "t.rate_interval", "v_count")},
          turn = CASE WHEN v_count = 0 THEN greatest(u.turn, qu.round) ELSE u.turn + v_count * ${unit}::bigint END,
          round = greatest(u.round, v_round)
        WHERE u.queue = p_queue AND u.home = t.home AND (v_count > 0 OR u.turn < qu.round);
        IF v_count > 0 THEN
          qu.round := greatest(qu.round, t.turn + (v_count - 1) * ${unit}::bigint);
          qu.running := qu.running + CASE WHEN q.concurrency IS NULL THEN 0 ELSE v_count END;
          qu.tat := ${spendSql("qu.tat", "q.rate_interval", "v_count")};
          v_left := v_left - v_count;
          v_wanted := v_wanted - v_count;
          v_active := v_active || t.home;
        END IF;
      END LOOP;
      v_homes := v_active;
    END LOOP;
    UPDATE ${flowUse} AS u SET running = qu.running, tat = qu.tat, round = qu.round
    WHERE u.queue = p_queue AND u.home = 0 AND (u.running, u.tat, u.round) <> (qu.running, qu.tat, qu.round);
    EXIT WHEN v_wanted <= 0 OR v_folded < ${foldLimit};
  END LOOP;
END`,
  );
};
