import { assertLeaseDuration, type ClaimCall, remainingLimits, type StateJob } from "leasehold/adapter";
import type { Call, Database } from "../database/database.ts";
import type { SqlRow } from "../database/provider.ts";
import { arrayLiteral, clockCte, now } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { claimRuled } from "../limits/claim.ts";
import { claimedColumns, createClaimedJobReader, jobColumns, toStateJob } from "../rows/job-table.ts";
import {
  findQueueTypes,
  type QueueType,
  readAttemptOverrides,
  runnableInLineSql,
  runOrder,
} from "../rows/runnable.ts";
import { promoteDueJobs, someAreDueSql } from "./promote.ts";

// A claim is one statement:
//
//   clock       one present for the whole statement
//   allowance   how many jobs to take: none if jobs are due that are not yet in line, or if there are new rules
//   picked      where in the table the jobs are, in the order in which they are to run; locked
//   UPDATE      makes them running, and returns them
//
// With one queue and type, `picked` is the head of its line. With several, it is found in steps, of which only the last
// locks anything:
//
//   queue_type  the queues and types asked for, and the request of each
//   portion     how far to look into each line at first
//   glance      the heads of the lines, as far as that
//   seen        how many of those would be taken from each line
//   used_up     the lines of which all that was looked at would be taken: they may have more
//   candidate   the same heads, but of lines that are used up as many as could be wanted at all
//   share       how many to take from each line
//   picked      as many from each line, passing over what others have locked
//
// If it takes nothing, due jobs are put in line, and if there were any the claim is made again, this time without looking
// for more of them:
//
//   claim ── jobs ──▶ done
//     └── none ──▶ promote ── none ──▶ done
//                     └── some ──▶ claim ──▶ done
//
// Queues with rules or groups have another statement (flow/claim-ruled.ts). Which queues these are, a process remembers; when
// the rules have changed since, the claim takes nothing, and begins again when it has read them.

type ClaimJobsCall = Call & ClaimCall;

/**
 * The jobs in line, in order.
 *
 * The planner estimates how many jobs fulfil the conditions. With conditions that the index does not have it would expect
 * next to none, and sort those few: wrong where there are a million. So there is nothing here that the index does not have.
 */
const lineSql = ({ job }: Tables, columns: string, lane: string): string => `
  SELECT ${columns} FROM ${job} AS j WHERE ${runnableInLineSql(lane)} ORDER BY ${runOrder}`;

const allowanceSql = (tables: Tables, attemptsLeft: string): string =>
  `allowance AS MATERIALIZED (
  SELECT CASE WHEN (SELECT epoch FROM ${tables.flow}) <> $10::bigint
    OR ($9::boolean AND (${someAreDueSql(tables, attemptsLeft)})) THEN 0 ELSE $4::int END AS size
)`;

const pickFromOneLine = (tables: Tables): string => `
picked AS MATERIALIZED (
  SELECT ctid FROM (
    ${lineSql(tables, "ctid", "($2::bigint[])[1]")}
    LIMIT (SELECT least(size, ($5::int[])[($3::int[])[1]]) FROM allowance)
    FOR NO KEY UPDATE SKIP LOCKED
  ) AS runnable
)`;

/** Of the jobs looked at, those to take: of each request the first in line, and the requests in their order. */
const takenSql = (rows: string): string => `
  SELECT first.* FROM unnest($5::int[]) WITH ORDINALITY AS asked (most, request)
  CROSS JOIN LATERAL (
    SELECT * FROM ${rows} AS seen WHERE seen.request = asked.request ORDER BY ${runOrder} LIMIT asked.most
  ) AS first
  ORDER BY request, ${runOrder} LIMIT (SELECT size FROM allowance)`;

/** The first look goes a little further than an even share: lines that fill evenly hardly ever differ by more. */
const pickFromManyLines = (tables: Tables): string => {
  const orderColumns = "priority, due_at, position";
  const headsSql = (condition: string, size: string): string => `
  SELECT place, request, head.* FROM queue_type CROSS JOIN LATERAL (
    ${lineSql(tables, orderColumns, "queue_type.number")} LIMIT ${size}
  ) AS head WHERE ${condition}`;
  return `
queue_type AS MATERIALIZED (
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
  ${headsSql("place = ANY (ARRAY(SELECT place FROM used_up))", "($5::int[])[queue_type.request]")}
),
share AS MATERIALIZED (
  SELECT * FROM seen WHERE NOT EXISTS (SELECT FROM used_up)
  UNION ALL
  SELECT place, count(*) AS quota FROM (${takenSql("candidate")}) AS taken
  WHERE EXISTS (SELECT FROM used_up) GROUP BY place
),
picked AS MATERIALIZED (
  SELECT runnable.ctid, share.place FROM share
  CROSS JOIN LATERAL (${lineSql(tables, `ctid, ${orderColumns}`, "($2::bigint[])[share.place]")}
    LIMIT share.quota FOR NO KEY UPDATE SKIP LOCKED) AS runnable
  ORDER BY ($3::int[])[share.place], ${runOrder}
)`;
};

/**
 * The jobs picked, as a table of places in the table of jobs. Rows that are locked stay where they are, so they can be
 * found again by `ctid`, without an index.
 *
 * The planner does not know the limits of `picked`, and expects a good part of the table: it would read all of it. An array
 * counts as ten rows; even for ten it would read a table that was small when the plan was made, and keep that plan when the
 * table has grown. With a limit that it does not know it expects one row of those ten, and goes by `ctid`.
 */
const takenPlacesSql = (single: boolean): string => {
  const columns = single ? ["ctid"] : ["ctid", "place"];
  const arrays = columns.map((column) => `ARRAY(SELECT ${column} FROM picked)`);
  return `(
  SELECT * FROM unnest(${arrays.join(", ")}) WITH ORDINALITY
  LIMIT (SELECT 2147483647)
) AS taken (${columns.join(", ")}, turn)`;
};

const claimSql = (tables: Tables, single: boolean, attemptsLeft: string): string => `
WITH ${clockCte("$1")},
${allowanceSql(tables, attemptsLeft)},
${single ? pickFromOneLine(tables) : pickFromManyLines(tables)}
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
FROM ${takenPlacesSql(single)}
WHERE j.ctid = taken.ctid
RETURNING taken.turn::int, ${single ? "" : "taken.place, "}${claimedColumns("j", false)}`;

const heldSql = ({ job }: Tables): string => `
WITH ${clockCte("$1")}
SELECT ${jobColumns("j")} FROM ${job} AS j
WHERE status = 'running' AND lease_token = $2 AND due_at > ${now}
ORDER BY priority DESC, position`;

/** The jobs that an earlier call with this token took; one whose lease has expired since is no longer held. */
const findClaimedByToken = async ({ query, tables }: Database, call: ClaimJobsCall): Promise<StateJob[]> => {
  const rows = await query(call.ctx, { sql: heldSql(tables), params: [call.now ?? null, call.leaseToken] });
  return rows.map(toStateJob);
};

const overlap = (queueTypes: readonly QueueType[]): boolean =>
  new Set(queueTypes.map(({ number }) => number)).size < queueTypes.length;

/** The update returns rows in the order in which they were picked, unless the planner has chosen another way to meet them. */
const inClaimOrder = (rows: readonly SqlRow[]): readonly SqlRow[] => {
  let last = 0;
  for (const row of rows) {
    const turn = Number(row["turn"]);
    if (turn < last) return [...rows].sort((a, b) => Number(a["turn"]) - Number(b["turn"]));
    last = turn;
  }
  return rows;
};

const createReader = (queueTypes: readonly QueueType[], call: ClaimJobsCall): ((row: SqlRow) => StateJob) => {
  const readers = queueTypes.map((queueType) => {
    let reader: ((row: SqlRow) => StateJob) | undefined;
    return (row: SqlRow) => (reader ??= createClaimedJobReader(queueType, call))(row);
  });
  return (row) => readers[Number(row["place"] ?? 1) - 1]!(row);
};

/** The rules have changed since this process read them. */
const staleRules = Symbol("stale rules");

const claimFrom = async (
  database: Database,
  call: ClaimJobsCall,
  queueTypes: readonly QueueType[],
  limits: readonly number[],
  limit: number,
): Promise<StateJob[] | typeof staleRules> => {
  if (queueTypes.length === 0 || limit <= 0) return [];
  const single = queueTypes.length === 1;
  const numbers = arrayLiteral(queueTypes.map(({ number }) => number));
  const overrides = readAttemptOverrides(queueTypes, call.maxAttempts);
  const { epoch } = database.flow;
  const claim = (unlessSomeAreDue: boolean): Promise<readonly SqlRow[]> =>
    database.query(call.ctx, {
      name: `claim_${single ? "one" : "many"}${overrides.suffix}`,
      sql: (tables) => claimSql(tables, single, overrides.attemptsLeft("$11")),
      params: [
        call.now ?? null,
        numbers,
        arrayLiteral(queueTypes.map(({ request }) => request)),
        limit,
        arrayLiteral(limits),
        call.leaseMs,
        call.leaseToken,
        call.workerId,
        unlessSomeAreDue,
        epoch,
        ...overrides.params,
      ],
    });
  let rows = await claim(true);
  if (rows.length === 0) {
    const promotion = await promoteDueJobs(database, call, numbers, overrides, epoch);
    if (promotion.epoch !== epoch) return staleRules;
    if (promotion.promoted > 0) rows = await claim(false);
  }
  return inClaimOrder(rows).map(createReader(queueTypes, call));
};

const isRuled = ({ flow }: Database, { queue }: QueueType): boolean => flow.queue(queue)?.isRuled === true;

/** Parts of a claim that are each one statement: a request with rules is alone, and so is one that repeats another's types. */
const inParts = (database: Database, queueTypes: readonly QueueType[]): QueueType[][] => {
  const requests = [...new Set(queueTypes.map(({ request }) => request))].map((request) =>
    queueTypes.filter((queueType) => queueType.request === request),
  );
  const areAlone = overlap(queueTypes);
  const parts: QueueType[][] = [];
  let plain: QueueType[] | undefined;
  for (const request of requests) {
    if (areAlone || isRuled(database, request[0]!)) {
      parts.push(request);
      plain = undefined;
    } else if (plain === undefined) {
      plain = [...request];
      parts.push(plain);
    } else plain.push(...request);
  }
  return parts;
};

const claimParts = async (
  database: Database,
  call: ClaimJobsCall,
  parts: readonly QueueType[][],
  limits: readonly number[],
  limit: number,
): Promise<StateJob[] | typeof staleRules> => {
  const claimed: StateJob[] = [];
  for (const part of parts) {
    const left = limit - claimed.length;
    const found = isRuled(database, part[0]!)
      ? await claimRuled(database, call, part, Math.min(left, limits[part[0]!.request - 1] ?? 0))
      : await claimFrom(database, call, part, limits, left);
    // What was claimed so far is kept: the rest is for the next claim.
    if (found === staleRules) return claimed.length > 0 ? claimed : staleRules;
    claimed.push(...found);
  }
  return claimed;
};

const claimOnce = async (
  database: Database,
  call: ClaimJobsCall,
  limits: readonly number[],
  limit: number,
): Promise<StateJob[] | typeof staleRules> => {
  const found = await findQueueTypes(database, call, call.requests);
  const queueTypes = found.filter(({ request }) => (limits[request - 1] ?? 0) > 0);
  const parts = inParts(database, queueTypes);
  if (!overlap(queueTypes)) return claimParts(database, call, parts, limits, limit);
  // The same queue and type twice: one request after the other, so that the second sees what the first has taken.
  return database.atomically(call.ctx, (ctx) => claimParts(database, { ...call, ctx }, parts, limits, limit));
};

export const claimJobs = async (database: Database, call: ClaimJobsCall): Promise<StateJob[]> => {
  assertLeaseDuration(call.leaseMs);
  const held = call.isRepeat === true ? await findClaimedByToken(database, call) : [];
  const limits = remainingLimits(call.requests, held);
  const limit = call.limit - held.length;
  for (;;) {
    const claimed = await claimOnce(database, call, limits, limit);
    if (claimed !== staleRules) return [...held, ...claimed];
    await database.flow.load(call.ctx);
  }
};
