import {
  assertLeaseDuration,
  type ClaimCall as ClaimJobsCall,
  remainingLimits,
  type StateJob,
} from "leasehold/adapter";
import { arrayLiteral } from "../sql/array-literal.ts";
import { clockCte, now } from "../sql/clock.ts";
import type { Call, Database } from "../database.ts";
import { claimedColumns, createClaimedJobReader, jobColumns, toStateJob } from "../job-columns.ts";
import type { SqlRow } from "../provider.ts";
import type { Tables } from "../tables.ts";
import { attemptsLeftSql, maxAttemptsOf } from "../runnable.ts";
import { type Lane, lanesOf } from "../queue-types.ts";

export type ClaimCall = Call & ClaimJobsCall;

const runOrder = "priority DESC, due_at, position";

/**
 * Whether jobs of the lanes have fallen due that are not yet marked as ready. The questions are to the head of an index,
 * which is read in order: entries of jobs long finished, which it meets there, are marked as dead on the way. Of the
 * running ones only the very first is looked at, whatever its lane: asked for more, the planner would fetch and sort all
 * that the index has, the dead ones again at every claim.
 */
const someAreDueSql = ({ job }: Tables, attemptsLeft: string): string => `EXISTS (
  SELECT FROM unnest($2::bigint[]) AS number
  WHERE (SELECT due_at FROM ${job} WHERE status = 'pending' AND NOT ready AND lane = number
    ORDER BY due_at LIMIT 1) <= ${now}
) OR CASE WHEN (SELECT due_at FROM ${job} WHERE status = 'running' ORDER BY due_at LIMIT 1) <= ${now}
  THEN EXISTS (
    SELECT FROM ${job}
    WHERE status = 'running' AND due_at <= ${now} AND NOT ready AND ${attemptsLeft} AND lane = ANY ($2::bigint[])
  )
END`;

// The condition is all that the index knows. With more, the planner would expect next to nothing and sort it.
const runnableSql = ({ job }: Tables, columns: string, lane: string): string => `
  SELECT ${columns} FROM ${job} WHERE ready AND lane = ${lane} AND due_at <= ${now} ORDER BY ${runOrder}`;

// Nothing is taken while jobs that have fallen due are not yet in line.
const allowanceSql = (tables: Tables, attemptsLeft: string): string =>
  `allowance AS MATERIALIZED (
  SELECT CASE WHEN $9::boolean AND (${someAreDueSql(tables, attemptsLeft)}) THEN 0 ELSE $4::int END AS size
)`;

/** One lane: its index, read in order, is the line; rows are locked as they are taken. */
const pickFromOneLane = (tables: Tables, attemptsLeft: string): string => `
${allowanceSql(tables, attemptsLeft)},
picked AS MATERIALIZED (
  SELECT ctid, 1 AS place FROM (
    ${runnableSql(tables, "ctid", "($2::bigint[])[1]")}
    LIMIT (SELECT least(size, ($5::int[])[($3::int[])[1]]) FROM allowance)
    FOR NO KEY UPDATE SKIP LOCKED
  ) AS runnable
)`;

/** Of rows that are in sight, those to take: of each request the first in line, and the requests in turn. */
const takenSql = (rows: string): string => `
  SELECT first.* FROM unnest($5::int[]) WITH ORDINALITY AS asked (most, request)
  CROSS JOIN LATERAL (
    SELECT * FROM ${rows} AS seen WHERE seen.request = asked.request ORDER BY ${runOrder} LIMIT asked.most
  ) AS first
  ORDER BY request, ${runOrder} LIMIT (SELECT size FROM allowance)`;

/**
 * Many lanes: how many jobs to take from each is seen without locks; then as many are locked in each lane. A job that
 * somebody else has locked is passed over for the next in its lane.
 *
 * A glance at the heads of the lanes mostly shows enough: it goes as far as lanes that fill evenly hardly ever differ. A
 * lane of which all that was seen is wanted may have more to give; of such, as much is read as could be wanted at all.
 */
const pickFromManyLanes = (tables: Tables, attemptsLeft: string): string => {
  const line = "priority, due_at, position";
  const headsSql = (condition: string, size: string): string => `
  SELECT place, request, head.* FROM lane CROSS JOIN LATERAL (
    ${runnableSql(tables, line, "lane.number")} LIMIT ${size}
  ) AS head WHERE ${condition}`;
  return `
${allowanceSql(tables, attemptsLeft)},
lane AS MATERIALIZED (
  SELECT * FROM unnest($2::bigint[], $3::int[]) WITH ORDINALITY AS t (number, request, place)
),
portion AS MATERIALIZED (
  SELECT ceil(share + 4 * sqrt(share) + 4)::int AS size FROM (
    SELECT $4::float8 / cardinality($2::bigint[]) AS share
  ) AS even
),
glance AS MATERIALIZED (${headsSql("true", "(SELECT size FROM portion)")}),
seen AS MATERIALIZED (SELECT place, count(*) AS quota FROM (${takenSql("glance")}) AS taken GROUP BY place),
used_up AS MATERIALIZED (SELECT place FROM seen WHERE quota = (SELECT size FROM portion)),
candidate AS (
  SELECT * FROM glance WHERE place <> ALL (ARRAY(SELECT place FROM used_up))
  UNION ALL
  ${headsSql("place = ANY (ARRAY(SELECT place FROM used_up))", "($5::int[])[lane.request]")}
),
share AS MATERIALIZED (
  SELECT * FROM seen WHERE NOT EXISTS (SELECT FROM used_up)
  UNION ALL
  SELECT place, count(*) AS quota FROM (${takenSql("candidate")}) AS taken
  WHERE EXISTS (SELECT FROM used_up) GROUP BY place
),
picked AS MATERIALIZED (
  SELECT runnable.ctid, share.place FROM share
  CROSS JOIN LATERAL (${runnableSql(tables, `ctid, ${line}`, "($2::bigint[])[share.place]")}
    LIMIT share.quota FOR NO KEY UPDATE SKIP LOCKED) AS runnable
  ORDER BY ($3::int[])[share.place], ${runOrder}
)`;
};

// Rows that are locked stay where they are, so they can be found again by their place in the table: no index is needed.
// They come as arrays, because the planner takes those for short; of a query with a limit it does not know it would expect
// a share of the table, and read all of it. It expects ten, and of those, by a limit it does not know, one: for ten it
// would rather read a table that was small when the plan was made, and keep doing so when it has grown.
const claimSql = (tables: Tables, single: boolean, overridden: boolean): string => `
WITH ${clockCte("$1")},
${(single ? pickFromOneLane : pickFromManyLanes)(tables, attemptsLeftSql(overridden, "$10"))}
UPDATE ${tables.job} AS j SET
  status = 'running',
  ready = false,
  due_at = ${now} + coalesce(j.lease_ms, $6::bigint),
  attempt = j.attempt + 1,
  lease_token = $7,
  lease_version = j.lease_version + 1,
  leased_by = $8,
  expired_leases = j.expired_leases + CASE WHEN j.status = 'running' THEN 1 ELSE 0 END,
  last_failed_at = CASE WHEN j.status = 'running' THEN j.due_at ELSE j.last_failed_at END,
  scheduled_at = CASE WHEN j.status = 'running' THEN j.due_at ELSE j.scheduled_at END,
  last_attempt_at = ${now}
FROM (
  SELECT * FROM unnest(ARRAY(SELECT ctid FROM picked), ARRAY(SELECT place FROM picked)) WITH ORDINALITY
  LIMIT (SELECT 2147483647)
) AS taken (ctid, place, turn)
WHERE j.ctid = taken.ctid
RETURNING taken.turn::int, taken.place, ${claimedColumns("j")}`;

// How many jobs of a lane are marked at once, so that a flood of them falling due does not hold up the claim.
const promotionLimit = 1_000;

/**
 * Marks jobs as ready that have fallen due: pending ones whose time has come, running ones whose lease has run out. It
 * happens before anything is claimed, so that they take their places in line.
 */
const promoteSql = ({ job }: Tables, overridden: boolean): string => `
WITH ${clockCte("$1")},
due AS MATERIALIZED (
  SELECT pending.id FROM unnest($2::bigint[]) AS number CROSS JOIN LATERAL (
    SELECT id FROM ${job} WHERE status = 'pending' AND NOT ready AND lane = number AND due_at <= ${now}
    ORDER BY due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
  ) AS pending
  UNION ALL
  SELECT expired.id FROM (
    SELECT id FROM ${job}
    WHERE status = 'running' AND NOT ready AND due_at <= ${now} AND ${attemptsLeftSql(overridden, "$3")}
      AND lane = ANY ($2::bigint[])
    ORDER BY due_at LIMIT ${promotionLimit} FOR NO KEY UPDATE SKIP LOCKED
  ) AS expired
)
UPDATE ${job} AS j SET ready = true WHERE j.id = ANY (ARRAY(SELECT id FROM due)) RETURNING 1 AS promoted`;

const heldSql = ({ job }: Tables): string => `
WITH ${clockCte("$1")}
SELECT ${jobColumns("j")} FROM ${job} AS j
WHERE status = 'running' AND lease_token = $2 AND due_at > ${now}
ORDER BY priority DESC, position`;

/** The jobs that an earlier call with this token took; a lease that has run out since is no longer held. */
const findHeld = async ({ query, tables }: Database, call: ClaimCall): Promise<StateJob[]> => {
  const rows = await query(call.ctx, { sql: heldSql(tables), params: [call.now ?? null, call.leaseToken] });
  return rows.map(toStateJob);
};

const overlap = (lanes: readonly Lane[]): boolean =>
  new Set(lanes.map(({ number }) => number)).size < lanes.length;

/** They come in the order in which they were picked, unless the planner has found another way to meet them. */
const inTurn = (rows: readonly SqlRow[]): readonly SqlRow[] => {
  const isInTurn = rows.every(
    (row, index) => index === 0 || Number(rows[index - 1]!["turn"]) < Number(row["turn"]),
  );
  return isInTurn ? rows : [...rows].sort((a, b) => Number(a["turn"]) - Number(b["turn"]));
};

const claimFromLanes = async (
  database: Database,
  call: ClaimCall,
  lanes: readonly Lane[],
  limits: readonly number[],
  limit: number,
): Promise<StateJob[]> => {
  if (lanes.length === 0 || limit <= 0) return [];
  const single = lanes.length === 1;
  const numbers = arrayLiteral(lanes.map(({ number }) => number));
  const maxAttempts = maxAttemptsOf(lanes, call.maxAttempts);
  const overridden = maxAttempts.length > 0;
  const suffix = overridden ? "_overridden" : "";
  const params = [
    call.now ?? null,
    numbers,
    arrayLiteral(lanes.map(({ request }) => request)),
    limit,
    arrayLiteral(limits),
    call.leaseMs,
    call.leaseToken,
    call.workerId,
  ];
  /** With `inOrder`, nothing is taken while jobs that have fallen due are not yet in line. */
  const claim = (inOrder: boolean): Promise<readonly SqlRow[]> =>
    database.query(call.ctx, {
      name: `claim_${single ? "one_lane" : "many_lanes"}${suffix}`,
      sql: (tables) => claimSql(tables, single, overridden),
      params: [...params, inOrder, ...maxAttempts],
    });
  let rows = await claim(true);
  if (rows.length === 0) {
    const promoted = await database.query(call.ctx, {
      name: `promote${suffix}`,
      sql: (tables) => promoteSql(tables, overridden),
      params: [call.now ?? null, numbers, ...maxAttempts],
    });
    if (promoted.length > 0) rows = await claim(false);
  }
  const readers: ((row: SqlRow) => StateJob)[] = [];
  return inTurn(rows).map((row) => {
    const place = Number(row["place"]) - 1;
    const read = (readers[place] ??= createClaimedJobReader(lanes[place]!, call));
    return read(row);
  });
};

export const claimJobs = async (database: Database, call: ClaimCall): Promise<StateJob[]> => {
  assertLeaseDuration(call.leaseMs);
  const held = call.isRepeat === true ? await findHeld(database, call) : [];
  const limits = remainingLimits(call.requests, held);
  const limit = call.limit - held.length;
  const lanes = (await lanesOf(database, call, call.requests)).filter(
    ({ request }) => limits[request - 1]! > 0,
  );
  if (!overlap(lanes)) return [...held, ...(await claimFromLanes(database, call, lanes, limits, limit))];

  // The same line twice: one request after the other, so that the second sees what the first has taken.
  return database.atomically(call.ctx, async (ctx) => {
    const claimed: StateJob[] = [];
    for (const request of new Set(lanes.map((lane) => lane.request))) {
      const own = lanes.filter((lane) => lane.request === request);
      claimed.push(
        ...(await claimFromLanes(database, { ...call, ctx }, own, limits, limit - claimed.length)),
      );
    }
    return [...held, ...claimed];
  });
};
