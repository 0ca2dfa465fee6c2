import type { Tables } from "../../database/tables.ts";

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

export const define = (name: string, parameters: string, returns: string, body: string): string => `
CREATE OR REPLACE FUNCTION ${name}(${parameters}) RETURNS ${returns}
LANGUAGE plpgsql VOLATILE ${indexesOnly} SET jit = off SET plan_cache_mode = force_generic_plan AS $function$
${body}
$function$`;

// A job takes one unit of its line's turns, divided by the weight of the group.
export const unit = 1_048_576;

export const foldLimit = 2_000;

export const promotionLimit = 1_000;
// So many lines are served by one look at most, with more jobs of each: that is fewer lines to write.
export const linesPerLook = 16;

export const highestPriority = 2_147_483_647;

export const runOrder = "j.priority DESC, j.due_at, j.position";

/** What a token bucket gives: columns or variables for its state and its rate. */
export const tokensSql = (tat: string, interval: string, burst: string): string =>
  `CASE WHEN ${interval} IS NULL THEN 2147483647 ELSE
    least(2147483647, greatest(0, (v_us + ${burst} * ${interval} - greatest(${tat}, v_us)) / ${interval})) END`;

export const nextTokenSql = (tat: string, interval: string, burst: string): string =>
  `CASE WHEN ${interval} IS NULL OR ${tat} <= v_us + (${burst} - 1) * ${interval} THEN 0
    ELSE (${tat} - (${burst} - 1) * ${interval} + 999) / 1000 END`;

export const spendSql = (tat: string, interval: string, count: string): string =>
  `CASE WHEN ${interval} IS NULL OR ${count} = 0 THEN ${tat} ELSE greatest(${tat}, v_us) + ${count} * ${interval} END`;

export const deltaColumns = "queue, home, line, group_key, ordered, arrived, freed, type_freed, queue_freed";

/** Notes about jobs that got in line: a table with queue, home, lane, group_key, ordered, and slots as they were before. */
export const notesOfSql = (moved: string): string => `
  SELECT queue, coalesce(home, lane), lane, group_key, bool_or(ordered IS NOT NULL), count(*),
    count(*) FILTER (WHERE slots & 1 <> 0), count(*) FILTER (WHERE slots & 2 <> 0), count(*) FILTER (WHERE slots & 4 <> 0)
  FROM ${moved} AS moved WHERE home IS NOT NULL OR slots IS NOT NULL GROUP BY queue, home, lane, group_key`;

export const attemptsLeft = `j.attempt < CASE WHEN j.max_attempts_given = false
  THEN coalesce(p_attempts[array_position(p_homes, coalesce(j.home, j.lane))], j.max_attempts) ELSE j.max_attempts END`;

// A rank has to fit into the column `priority`. With the smallest step, a second, it does from 1957 to 2092. The highest number
// is left to jobs of ordered groups that have begun.
export const rankSql = ({ schema, flowRule }: Tables): string => `
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
export const isAgedQueueSql = ({ flowRule }: Tables): string =>
  `EXISTS (SELECT FROM ${flowRule} AS r WHERE r.queue = j.queue AND r.age_priority_ms IS NOT NULL)`;

/** The place in line of a job that is due at another moment than before. */
export const newPlaceSql = ({ schema }: Tables, dueAt: string): string =>
  `CASE WHEN j.base_priority IS NULL OR (j.ordered IS NOT NULL AND j.lease_version > 0) THEN j.priority
    ELSE ${schema}.flow_rank(j.queue, coalesce(j.home, j.lane), j.base_priority, ${dueAt}) END`;

/** What a later migration adds to `flow_reap`: columns of the expired jobs as they were, and WITH queries that read these. */
export interface ReapAddition {
  readonly columns: string;
  readonly queries: string;
}

/** The limits of each group of a type: a table \`limits\`, from the rules \`t\` of the type and \`q\` of the queue. */
export const groupLimitsSql = (t: string, q: string): string => {
  const either = (column: string): string =>
    `CASE WHEN ${t}.group_limits THEN ${t}.${column} WHEN ${q}.group_limits THEN ${q}.${column} END`;
  return `SELECT ${either("group_concurrency")} AS room, ${either("group_rate_interval")} AS interval,
    ${either("group_rate_burst")} AS burst`;
};

export const lockKeySql = (schema: string, queue: string): string =>
  `hashtextextended('leasehold flow of ${schema.replaceAll('"', "")} ' || ${queue}, 0)`;

export const lockSql = ({ schema }: Tables): string =>
  `PERFORM pg_advisory_xact_lock(${lockKeySql(schema, "p_queue")});`;

export const presentSql = "coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

/** The rules and the use of the types asked for, in the order of their turns. Paused types are left out. */
export const typesSql = ({ flowRule, flowUse, line }: Tables): string => `
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

/** Returns the present. */
export const settleSql = (tables: Tables): string =>
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

// As `firstLine` in queue-types.ts.
export const firstLine = "9151314442816847872";

export const sweptLines = 1_000;

const rerankedJobs = 1_000;

const rerankedLines = 1_000;

/**
 * Goes along the jobs in line of a queue, in the order of `job_ready`: `rerank` in the counters of the queue says how far it
 * has got, as lane, priority, due_at and position; at the beginning it is empty. A job that moves forward in that order is met
 * again, and is right then. As long as waiting counts in this queue, it begins again after the end: who started a job may not
 * have known the rule yet, or may not have committed. Does nothing while somebody claims from the queue, and passes over jobs
 * that are locked.
 */
export const rerankSql = (tables: Tables): string => {
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
