import { assertLeaseDuration, type ClaimCall, remainingLimits, type StateJob } from "leasehold/adapter";
import type { Call, ClaimCursor, Database } from "../database/database.ts";
import type { SqlRow, SqlStatement } from "../database/provider.ts";
import { arrayLiteral, clockCte, now } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { claimLimited } from "../limits/claim.ts";
import { claimedColumns, createClaimedJobReader, jobColumns, toStateJob } from "../rows/job-table.ts";
import {
  findQueueTypes,
  isLimited,
  type QueueType,
  readAttemptOverrides,
  runnableSql,
  runOrder,
} from "../rows/runnable.ts";
import { cursorParams } from "./claim-cursors.ts";
import { promoteDueJobs, someAreDueSql } from "./promote.ts";

// A claim is one statement:
//
//   clock       the present, read once
//   allowance   how many jobs to claim: 0 if jobs are due but not ready, or if the rules have changed
//   picked      the places of the jobs in the table, in the order in which they run; locked
//   UPDATE      makes them running and returns them
//
// With one queue and type, `picked` is the beginning of one range of the index. With several, it takes these steps, of which
// only the last locks rows:
//
//   queue_type  the queues and types of the requests
//   portion     how many entries to read of each range at first
//   glance      the first entries of each range
//   seen        how many of them would be claimed from each range
//   used_up     the ranges of which all read entries would be claimed: they may have more
//   candidate   the same entries, with as many of used-up ranges as their request allows
//   share       how many to claim from each range
//   picked      that many of each range, without locked rows
//
// If a claim finds nothing, it promotes due jobs. If there were any, it runs again without the check for due jobs:
//
//   claim ── jobs ──▶ done
//     └── none ──▶ promote ── none ──▶ done
//                     └── some ──▶ claim ──▶ done
//
// After a slow claim, the next ones begin where it ended (claim-cursors.ts), and do not check for due jobs.
//
// Queues with rules or groups have another statement (limits/claim.ts). A process remembers which queues these are. If the
// rules have changed, the claim takes nothing, loads the rules and starts again.

type ClaimJobsCall = Call & ClaimCall;

/** Where the ranges of the index begin. */
type From = "beginning" | "cursor";

/**
 * Ready jobs with one claim key, in the order in which they run. `place` is that of the claim key in the list.
 *
 * For a condition that the index lacks, the planner expects almost no rows and sorts them. With a million ready jobs that sort
 * is slow. So this query has only columns of the index.
 */
const rangeSql = (
  { job }: Tables,
  from: From,
  columns: string,
  place: string,
  claimKey = `($2::bigint[])[${place}]`,
): string => `
  SELECT ${columns} FROM ${job} AS j WHERE ${runnableSql(claimKey)}
    ${from === "cursor" ? `AND j.priority = ($12::int[])[${place}] AND j.due_at >= ($13::bigint[])[${place}]` : ""}
  ORDER BY ${runOrder}`;

// With EXISTS instead of the first row of the index, the planner may start with the list and read much more.
const higherPrioritySql = ({ job }: Tables): string => `EXISTS (
  SELECT FROM unnest($2::bigint[], $12::int[]) AS behind (number, priority)
  WHERE (SELECT j.due_at FROM ${job} AS j
    WHERE ${runnableSql("behind.number")} AND j.priority > behind.priority AND j.due_at >= $9::bigint
    ORDER BY ${runOrder} LIMIT 1) IS NOT NULL
)`;

const allowanceSql = (tables: Tables, from: From, attemptsLeft: string): string => {
  const mustWait =
    from === "cursor"
      ? higherPrioritySql(tables)
      : `$9::boolean AND (${someAreDueSql(tables, attemptsLeft)})`;
  return `allowance AS MATERIALIZED (
  SELECT CASE WHEN (SELECT epoch FROM ${tables.limitEpoch}) <> $10::bigint OR (${mustWait}) THEN 0 ELSE $4::int END AS size
)`;
};

const pickFromOneRange = (tables: Tables, from: From): string => `
picked AS MATERIALIZED (
  SELECT ctid FROM (
    ${rangeSql(tables, from, "ctid", "1")}
    LIMIT (SELECT least(size, ($5::int[])[($3::int[])[1]]) FROM allowance)
    FOR NO KEY UPDATE SKIP LOCKED
  ) AS runnable
)`;

/** The jobs to claim among the jobs that were read: the first ones of each request, in the order of requests. */
const takenSql = (rows: string): string => `
  SELECT first.* FROM unnest($5::int[]) WITH ORDINALITY AS asked (most, request)
  CROSS JOIN LATERAL (
    SELECT * FROM ${rows} AS seen WHERE seen.request = asked.request ORDER BY ${runOrder} LIMIT asked.most
  ) AS first
  ORDER BY request, ${runOrder} LIMIT (SELECT size FROM allowance)`;

/** Reads a little more than an even share at first: ranges that fill evenly rarely differ by more. */
const pickFromManyRanges = (tables: Tables, from: From): string => {
  const orderColumns = "priority, due_at, position";
  const headsSql = (condition: string, size: string): string => `
  SELECT place, request, head.* FROM queue_type CROSS JOIN LATERAL (
    ${rangeSql(tables, from, orderColumns, "queue_type.place", "queue_type.number")} LIMIT ${size}
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
  CROSS JOIN LATERAL (${rangeSql(tables, from, `ctid, ${orderColumns}`, "share.place")}
    LIMIT share.quota FOR NO KEY UPDATE SKIP LOCKED) AS runnable
  ORDER BY ($3::int[])[share.place], ${runOrder}
)`;
};

/**
 * The places of the picked jobs in the table. A locked row stays in its place, so `ctid` finds it without an index.
 *
 * The planner cannot estimate `picked`, expects a large part of the table and would read all of it. For an array it expects
 * ten rows, and would still read the whole table if that was small when the plan was made. For a limit from a subquery it
 * expects a tenth, which is one row, and goes by `ctid`.
 */
const takenPlacesSql = (single: boolean): string => {
  const columns = single ? ["ctid"] : ["ctid", "place"];
  const arrays = columns.map((column) => `ARRAY(SELECT ${column} FROM picked)`);
  return `(
  SELECT * FROM unnest(${arrays.join(", ")}) WITH ORDINALITY
  LIMIT (SELECT 2147483647)
) AS taken (${columns.join(", ")}, ordinal)`;
};

const claimSql = (tables: Tables, from: From, single: boolean, attemptsLeft: string): string => `
WITH ${clockCte("$1")},
${allowanceSql(tables, from, attemptsLeft)},
${single ? pickFromOneRange(tables, from) : pickFromManyRanges(tables, from)}
UPDATE ${tables.job} AS j SET
  status = 'running',
  ready = false,
  due_at = ${now} + coalesce(j.lease_ms, $6::bigint),
  attempt = j.attempt + 1,
  lease_token = $7,
  lease_version = j.lease_version + 1,
  leased_by = $8,
  deployment = $11,
  expired_leases = j.expired_leases + CASE WHEN j.status = 'running' THEN 1 ELSE 0 END,
  last_failed_at = CASE WHEN j.status = 'running' THEN j.due_at ELSE j.last_failed_at END,
  scheduled_at = CASE WHEN j.status = 'running' THEN j.due_at ELSE j.scheduled_at END,
  last_attempt_at = ${now}
FROM ${takenPlacesSql(single)}
WHERE j.ctid = taken.ctid
RETURNING taken.ordinal::int, ${single ? "" : "taken.place, "}${claimedColumns("j", false)}`;

const heldSql = ({ job }: Tables): string => `
WITH ${clockCte("$1")}
SELECT ${jobColumns("j")} FROM ${job} AS j
WHERE status = 'running' AND lease_token = $2 AND due_at > ${now}
ORDER BY priority DESC, position`;

/** The jobs that an earlier call with this token claimed, without those whose lease has expired. */
const findClaimedByToken = async ({ query, tables }: Database, call: ClaimJobsCall): Promise<StateJob[]> => {
  const rows = await query(call.ctx, { sql: heldSql(tables), params: [call.now ?? null, call.leaseToken] });
  return rows.map(toStateJob);
};

const overlap = (queueTypes: readonly QueueType[]): boolean =>
  new Set(queueTypes.map(({ number }) => number)).size < queueTypes.length;

/** Sorts the rows only if the update returned them in another order than picked, which depends on the plan. */
const inClaimOrder = (rows: readonly SqlRow[]): readonly SqlRow[] => {
  let last = 0;
  for (const row of rows) {
    const ordinal = Number(row["ordinal"]);
    if (ordinal < last) return [...rows].sort((a, b) => Number(a["ordinal"]) - Number(b["ordinal"]));
    last = ordinal;
  }
  return rows;
};

const readClaimed = (
  rows: readonly SqlRow[],
  queueTypes: readonly QueueType[],
  call: ClaimJobsCall,
): StateJob[] => {
  const readers: ReturnType<typeof createClaimedJobReader>[] = [];
  const jobs: StateJob[] = [];
  for (const row of inClaimOrder(rows)) {
    const index = Number(row["place"] ?? 1) - 1;
    const read = (readers[index] ??= createClaimedJobReader(queueTypes[index]!, call));
    jobs.push(read(row));
  }
  return jobs;
};

/** The rules have changed since this process loaded them. */
const staleRules = Symbol("stale rules");

const claimFrom = async (
  database: Database,
  call: ClaimJobsCall,
  queueTypes: readonly QueueType[],
  limits: readonly number[],
  limit: number,
): Promise<StateJob[] | typeof staleRules> => {
  if (queueTypes.length === 0 || limit <= 0) return [];
  const { cursors } = database;
  const numbers = arrayLiteral(queueTypes.map(({ number }) => number));
  const overrides = readAttemptOverrides(queueTypes, call.maxAttempts);
  const { epoch } = database.limits;
  const single = queueTypes.length === 1 ? "one" : "many";
  const claim = (
    name: string,
    from: From,
    [condition, ...params]: SqlStatement["params"],
  ): Promise<readonly SqlRow[]> =>
    database.query(call.ctx, {
      name: `claim_${single}${name}`,
      sql: (tables) => claimSql(tables, from, single === "one", overrides.attemptsLeft("$12")),
      params: [
        call.now ?? null,
        numbers,
        arrayLiteral(queueTypes.map(({ request }) => request)),
        limit,
        arrayLiteral(limits),
        call.leaseMs,
        call.leaseToken,
        call.workerId,
        condition!,
        epoch,
        call.deployment ?? null,
        ...params,
      ],
    });
  const fromBeginning = (unlessSomeAreDue: boolean): Promise<readonly SqlRow[]> =>
    claim(overrides.suffix, "beginning", [unlessSomeAreDue, ...overrides.params]);
  const fromCursor = (cursor: ClaimCursor): Promise<readonly SqlRow[]> =>
    claim("_from_cursor", "cursor", [cursor.since, ...cursorParams(cursor, queueTypes)]);

  // With a time of its own, or in a transaction, a claim must see all that it would see without a cursor.
  const mayUseCursor = call.now === undefined && call.ctx === undefined;
  const cursor = mayUseCursor ? cursors.find(queueTypes) : undefined;
  if (cursor !== undefined) {
    const jobs = readClaimed(await fromCursor(cursor), queueTypes, call);
    cursors.advance(cursor, queueTypes, jobs);
    if (jobs.length > 0) return jobs;
  }

  const startedAt = performance.now();
  let rows = await fromBeginning(true);
  const tookMs = performance.now() - startedAt;
  if (rows.length === 0) {
    const promotion = await promoteDueJobs(database, call, numbers, overrides, epoch);
    if (promotion.epoch !== epoch) return staleRules;
    if (promotion.promoted > 0) rows = await fromBeginning(false);
  }
  const jobs = readClaimed(rows, queueTypes, call);
  const asked = Math.min(limit, askedOf(queueTypes, limits));
  if (mayUseCursor && jobs.length > 0 && jobs.length >= asked) cursors.begin(queueTypes, jobs, tookMs);
  return jobs;
};

const askedOf = (queueTypes: readonly QueueType[], limits: readonly number[]): number => {
  let asked = 0;
  for (const [index, { request }] of queueTypes.entries())
    if (request !== queueTypes[index - 1]?.request) asked += limits[request - 1] ?? 0;
  return asked;
};

/** The statements of a claim. A request with rules has its own; if requests overlap, each has. */
const inParts = (
  database: Database,
  queueTypes: readonly QueueType[],
  requestsOverlap: boolean,
): QueueType[][] => {
  const parts: QueueType[][] = [];
  for (const [index, queueType] of queueTypes.entries()) {
    const previous = queueTypes[index - 1];
    const isSeparate =
      previous === undefined ||
      (previous.request !== queueType.request &&
        (requestsOverlap || isLimited(database, previous) || isLimited(database, queueType)));
    if (isSeparate) parts.push([queueType]);
    else parts.at(-1)!.push(queueType);
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
    const found = isLimited(database, part[0]!)
      ? await claimLimited(database, call, part, Math.min(left, limits[part[0]!.request - 1] ?? 0))
      : await claimFrom(database, call, part, limits, left);
    // Return what is claimed so far; the next claim takes the rest.
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
  const requestsOverlap = overlap(queueTypes);
  const parts = inParts(database, queueTypes, requestsOverlap);
  if (!requestsOverlap) return claimParts(database, call, parts, limits, limit);
  // The same queue and type twice: one request after the other, so that the second does not read what the first claimed.
  return database.atomically(call.ctx, (ctx) => claimParts(database, { ...call, ctx }, parts, limits, limit));
};

export const claimJobs = async (database: Database, call: ClaimJobsCall): Promise<StateJob[]> => {
  assertLeaseDuration(call.leaseMs);
  const held = call.isRepeat === true ? await findClaimedByToken(database, call) : [];
  const limits = remainingLimits(call.requests, held);
  const limit = call.limit - held.length;
  for (let current = database; ;) {
    const claimed = await claimOnce(current, call, limits, limit);
    if (claimed !== staleRules) return [...held, ...claimed];
    current = { ...database, limits: await database.limits.load(call.ctx) };
  }
};
