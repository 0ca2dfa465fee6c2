import type { Tables } from "../tables.ts";

// Part of a migration: the text of a function that was released is not changed here. A later migration replaces the function.
//
// What happens under the lock of a queue with rules or groups. These are functions because each statement of a function sees
// what was committed before it, at READ COMMITTED. In a plain statement that begins with the lock, everything after it would
// still see what there was before it had waited.
//
//   flow_rank      the place in line of a job for which waiting counts
//   flow_promote   jobs that are due are put in line
//   flow_reap      jobs whose lease has expired are put in line, and their slots come free
//   flow_fold      notes become changes of lines and counters, and lines whose time has come are opened
//   flow_claim     all of these, and then takes jobs, line by line in their turns, and counts them
//   flow_settle    promotes and folds, for those who want to read
//   flow_next      the same, and says when a claim can find something
//   flow_rerank    jobs in line get the places that a change of the rules gives them, some with each call
//   flow_sweep     removes lines that say no more than that there was a group once
//
// Whoever calls one of these holds the lock until the transaction ends. Inside there are no waits: jobs that somebody else has
// locked are skipped, and lines and counters are written by nobody else.

// Statistics may be from before a million jobs arrived. Here every read has an index to go by.
const indexesOnly = ["seqscan", "bitmapscan", "hashjoin", "mergejoin"]
  .map((kind) => `SET enable_${kind} = off`)
  .join(" ");

const define = (name: string, parameters: string, returns: string, body: string): string => `
CREATE OR REPLACE FUNCTION ${name}(${parameters}) RETURNS ${returns}
LANGUAGE plpgsql VOLATILE ${indexesOnly} SET jit = off SET plan_cache_mode = force_generic_plan AS $function$
${body}
$function$`;

// A job takes one unit of its line's turns, divided by the weight of the group.
const unit = 1_048_576;
const foldLimit = 2_000;
const promotionLimit = 1_000;
// So many lines are served by one look at most, with more jobs of each: that is fewer lines to write.
const linesPerLook = 16;
const highestPriority = 2_147_483_647;

const runOrder = "j.priority DESC, j.due_at, j.position";

/** What a token bucket gives: columns or variables for its state and its rate. */
const tokensSql = (tat: string, interval: string, burst: string): string =>
  `CASE WHEN ${interval} IS NULL THEN 2147483647 ELSE
    least(2147483647, greatest(0, (v_us + ${burst} * ${interval} - greatest(${tat}, v_us)) / ${interval})) END`;

const nextTokenSql = (tat: string, interval: string, burst: string): string =>
  `CASE WHEN ${interval} IS NULL OR ${tat} <= v_us + (${burst} - 1) * ${interval} THEN 0
    ELSE (${tat} - (${burst} - 1) * ${interval} + 999) / 1000 END`;

const spendSql = (tat: string, interval: string, count: string): string =>
  `CASE WHEN ${interval} IS NULL OR ${count} = 0 THEN ${tat} ELSE greatest(${tat}, v_us) + ${count} * ${interval} END`;

/**
 * Whether a line is open, held, and until when: a table \`state\`. Of the line given: number, running, tat, ordered,
 * stopped_by, room (its limit), interval, burst, and waits: whether something is in it, null if that has to be looked up.
 * A line is closed as empty only if a look without locks finds nothing.
 */
const stateSql = ({ job }: Tables, of: string): string => `LATERAL (
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

const noteColumns = "queue, home, line, group_key, ordered, arrived, freed, type_freed, queue_freed";

/** Notes about jobs that got in line: a table with queue, home, lane, group_key, ordered, and slots as they were before. */
const notesOfSql = (moved: string): string => `
  SELECT queue, coalesce(home, lane), lane, group_key, bool_or(ordered IS NOT NULL), count(*),
    count(*) FILTER (WHERE slots & 1 <> 0), count(*) FILTER (WHERE slots & 2 <> 0), count(*) FILTER (WHERE slots & 4 <> 0)
  FROM ${moved} AS moved WHERE home IS NOT NULL OR slots IS NOT NULL GROUP BY queue, home, lane, group_key`;

const attemptsLeft = `j.attempt < CASE WHEN j.max_attempts_given = false
  THEN coalesce(p_attempts[array_position(p_homes, coalesce(j.home, j.lane))], j.max_attempts) ELSE j.max_attempts END`;

// A rank has to fit into the column `priority`. With the smallest step, a second, it does from 1957 to 2092. The highest number
// is left to jobs of ordered groups that have begun.
const rankSql = ({ schema, flowRule }: Tables): string => `
CREATE OR REPLACE FUNCTION ${schema}.flow_rank(p_queue text, p_home bigint, p_priority int, p_due_at bigint) RETURNS int
LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN step IS NULL THEN p_priority ELSE greatest(-2147483648, least(2147483646,
    p_priority - floor(p_due_at::numeric / step) + floor(1700000000000::numeric / step))) END::int
  FROM (SELECT coalesce(
    (SELECT age_priority_ms FROM ${flowRule} WHERE queue = p_queue AND home = p_home),
    (SELECT age_priority_ms FROM ${flowRule} WHERE queue = p_queue AND home = 0)
  ) AS step) AS rule
$function$`;

/** Waiting counts for some jobs of its queue. It is asked for each job, and the index is empty as a rule. */
const isAgedQueueSql = ({ flowRule }: Tables): string =>
  `EXISTS (SELECT FROM ${flowRule} AS r WHERE r.queue = j.queue AND r.age_priority_ms IS NOT NULL)`;

/** The place in line of a job that is due at another moment than before. */
const newPlaceSql = ({ schema }: Tables, dueAt: string): string =>
  `CASE WHEN j.base_priority IS NULL OR (j.ordered IS NOT NULL AND j.lease_version > 0) THEN j.priority
    ELSE ${schema}.flow_rank(j.queue, coalesce(j.home, j.lane), j.base_priority, ${dueAt}) END`;

// A job that was for later when waiting began to count, or ceased to, gets its place now.
const promoteSql = (tables: Tables): string => {
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
    noted AS (INSERT INTO ${lineNote} (${noteColumns}) ${notesOfSql("moved")})
    SELECT count(*) INTO v_moved FROM moved;
    EXIT WHEN v_moved < ${promotionLimit};
  END LOOP;
END`,
  );
};

/** What a later migration adds to `flow_reap`: columns of the expired jobs as they were, and WITH queries that read these. */
interface ReapAddition {
  readonly columns: string;
  readonly queries: string;
}

export const reapSql = (
  tables: Tables,
  { columns, queries }: ReapAddition = { columns: "", queries: "" },
): string => {
  const { schema, job, lineNote } = tables;
  return define(
    `${schema}.flow_reap`,
    "p_at bigint, p_homes bigint[], p_attempts int[]",
    "void",
    `
BEGIN
    WITH expired AS MATERIALIZED (
      SELECT j.id, j.slots, j.queue, j.home, j.lane, j.group_key, j.ordered${columns} FROM ${job} AS j
      WHERE j.status = 'running' AND j.due_at <= p_at AND coalesce(j.home, j.lane) = ANY (p_homes) AND ${attemptsLeft}
      ORDER BY j.due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
    ),
    moved AS (
      UPDATE ${job} AS j SET
        status = 'pending',
        ready = true,
        slots = NULL,
        lease_token = NULL,
        leased_by = NULL,
        expired_leases = j.expired_leases + 1,
        last_failed_at = j.due_at,
        scheduled_at = j.due_at,
        priority = ${newPlaceSql(tables, "j.due_at")}
      WHERE j.id = ANY (ARRAY(SELECT id FROM expired))
    )${queries}
    INSERT INTO ${lineNote} (${noteColumns}) ${notesOfSql("expired")};
END`,
  );
};

/** The limits of each group of a type: a table \`limits\`, from the rules \`t\` of the type and \`q\` of the queue. */
const groupLimitsSql = (t: string, q: string): string => {
  const either = (column: string): string =>
    `CASE WHEN ${t}.group_limits THEN ${t}.${column} WHEN ${q}.group_limits THEN ${q}.${column} END`;
  return `SELECT ${either("group_concurrency")} AS room, ${either("group_rate_interval")} AS interval,
    ${either("group_rate_burst")} AS burst`;
};

const foldSql = (tables: Tables): string => {
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

const lockKeySql = (schema: string, queue: string): string =>
  `hashtextextended('leasehold flow of ${schema.replaceAll('"', "")} ' || ${queue}, 0)`;

const lockSql = ({ schema }: Tables): string =>
  `PERFORM pg_advisory_xact_lock(${lockKeySql(schema, "p_queue")});`;

const presentSql = "coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

/** The rules and the use of the types asked for, in the order of their turns. Paused types are left out. */
const typesSql = ({ flowRule, flowUse, line }: Tables): string => `
  SELECT h.home, rule.concurrency, rule.rate_interval, rule.rate_burst, coalesce(rule.weights, '{}') AS weights,
    coalesce(u.running, 0) AS running, coalesce(u.tat, 0) AS tat, coalesce(u.turn, 0) AS turn, coalesce(u.round, 0) AS round,
    own.number IS NULL AS is_new, limits.room AS group_room, limits.interval AS group_interval, limits.burst AS group_burst
  FROM unnest(v_homes) WITH ORDINALITY AS h (home, place)
  LEFT JOIN ${flowRule} AS rule ON rule.queue = p_queue AND rule.home = h.home
  LEFT JOIN ${flowUse} AS u ON u.queue = p_queue AND u.home = h.home
  LEFT JOIN ${line} AS own ON own.number = h.home
  CROSS JOIN LATERAL (${groupLimitsSql("rule", "q")}) AS limits
  WHERE NOT coalesce(rule.paused, false)
  ORDER BY turn, place`;

/**
 * Takes jobs of one queue. The types share what there is to take, and what one does not use goes to the others; so do the
 * lines of a type. Each look takes a portion of each line; there are looks until nothing more is found.
 */
const claimSql = (tables: Tables): string => {
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

/** Returns the present. */
const settleSql = (tables: Tables): string =>
  define(
    `${tables.schema}.flow_settle`,
    "p_now bigint, p_queue text, p_homes bigint[]",
    "bigint",
    `
DECLARE v_at bigint;
BEGIN
  ${lockSql(tables)}
  v_at := ${presentSql};
  PERFORM ${tables.schema}.flow_promote(v_at, p_homes);
  WHILE ${tables.schema}.flow_fold(v_at, p_queue) >= ${foldLimit} LOOP END LOOP;
  RETURN v_at;
END`,
  );

/**
 * When a claim can find something: in so many milliseconds; null when nothing is in sight. A claim reaps expired leases with
 * attempts left. What that frees is taken off the counters here, and nothing is written.
 */
const nextSql = (tables: Tables): string => {
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

// As `firstLine` in queue-types.ts.
const firstLine = "9151314442816847872";
const sweptLines = 1_000;

/**
 * A line is forgotten when it would be made again just like that: nothing in it, nothing counted, no tokens spent, and its
 * turn long past. Looks at some lines from a random place on, of one queue, and not at all while somebody claims from it.
 */
const sweepSql = ({ schema, line, flowUse }: Tables): string =>
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

const rerankedJobs = 1_000;
const rerankedLines = 1_000;

/**
 * Goes along the jobs in line of a queue, in the order of `job_ready`: `rerank` in the counters of the queue says how far it
 * has got, as lane, priority, due_at and position; at the beginning it is empty. A job that moves forward in that order is met
 * again, and is right then. As long as waiting counts in this queue, it begins again after the end: who started a job may not
 * have known the rule yet, or may not have committed. Does nothing while somebody claims from the queue, and passes over jobs
 * that are locked.
 */
const rerankSql = (tables: Tables): string => {
  const { schema, job, line, flowRule, flowUse } = tables;
  const rank = `${schema}.flow_rank(j.queue, coalesce(j.home, j.lane), coalesce(j.base_priority, j.priority), j.due_at)`;
  const look = (condition: string): string => `(
          SELECT j.id, j.lane, j.priority, j.due_at, j.position,
            j.status = 'pending' AND NOT (j.ordered IS NOT NULL AND j.lease_version > 0) AND j.priority <> ${rank} AS is_wrong
          FROM ${job} AS j WHERE j.ready AND j.lane = lanes.number AND ${condition} ORDER BY ${runOrder} LIMIT ${rerankedJobs}
        )`;
  return define(
    `${schema}.flow_rerank`,
    "p_now bigint, p_queue text, p_homes bigint[]",
    "int",
    `
DECLARE
  v_from bigint[];
  v_next bigint[];
  v_looked int;
  v_lanes int;
  v_last bigint;
  v_moved int;
BEGIN
  IF NOT pg_try_advisory_xact_lock(${lockKeySql(schema, "p_queue")}) THEN RETURN 0; END IF;
  SELECT u.rerank INTO v_from FROM ${flowUse} AS u WHERE u.queue = p_queue AND u.home = 0;
  IF v_from IS NULL THEN RETURN 0; END IF;
  -- What is not folded in yet may be about lines that nobody knows yet.
  PERFORM ${schema}.flow_settle(p_now, p_queue, p_homes);
  IF v_from = '{}' THEN v_from := ARRAY[-9223372036854775808, 2147483647, 0, 0]; END IF;
  WITH lanes AS MATERIALIZED (
    SELECT number FROM (
      SELECT number FROM unnest(p_homes) AS number WHERE number >= v_from[1]
      UNION
      (SELECT l.number FROM ${line} AS l WHERE l.queue = p_queue AND l.number >= v_from[1]
        ORDER BY l.number LIMIT ${rerankedLines})
    ) AS known ORDER BY number LIMIT ${rerankedLines}
  ),
  looked AS MATERIALIZED (
    SELECT *, row_number() OVER () AS nth FROM (
      SELECT found.* FROM lanes CROSS JOIN LATERAL (
        ${look("lanes.number = v_from[1] AND j.priority = v_from[2]::int AND (j.due_at, j.position) > (v_from[3], v_from[4])")}
        UNION ALL
        ${look("j.priority < CASE WHEN lanes.number = v_from[1] THEN v_from[2]::int ELSE 2147483647 END")}
      ) AS found LIMIT ${rerankedJobs}
    ) AS page
  ),
  moved AS (
    UPDATE ${job} AS j SET priority = ${rank}, base_priority = coalesce(j.base_priority, j.priority)
    WHERE j.id = ANY (ARRAY(
        SELECT free.id FROM ${job} AS free WHERE free.id = ANY (ARRAY(SELECT id FROM looked WHERE is_wrong))
        FOR NO KEY UPDATE SKIP LOCKED
      )) AND j.ready AND j.status = 'pending'
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM looked), (SELECT count(*) FROM lanes), (SELECT max(number) FROM lanes),
    (SELECT count(*) FROM moved), (SELECT ARRAY[lane, priority, due_at, position] FROM looked ORDER BY nth DESC LIMIT 1)
  INTO v_looked, v_lanes, v_last, v_moved, v_next;
  IF v_looked < ${rerankedJobs} THEN
    v_next := CASE
      WHEN v_lanes = ${rerankedLines} THEN ARRAY[v_last, -2147483648, 0, 0]
      WHEN EXISTS (SELECT FROM ${flowRule} AS r WHERE r.queue = p_queue AND r.age_priority_ms IS NOT NULL) THEN '{}'::bigint[]
    END;
  END IF;
  UPDATE ${flowUse} AS u SET rerank = v_next WHERE u.queue = p_queue AND u.home = 0 AND u.rerank IS DISTINCT FROM v_next;
  RETURN v_moved;
END`,
  );
};

export const flowFunctions = (tables: Tables): string[] => [
  rankSql(tables),
  promoteSql(tables),
  reapSql(tables),
  foldSql(tables),
  claimSql(tables),
  settleSql(tables),
  nextSql(tables),
  rerankSql(tables),
  sweepSql(tables),
];
