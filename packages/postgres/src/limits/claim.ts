import type { ClaimCall, MaxAttempts, StateJob } from "leasehold/adapter";
import type { Call, Context, Database } from "../database/database.ts";
import { arrayLiteral } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { claimedColumns, createClaimedJobReader } from "../rows/job-table.ts";
import { listAttemptOverrides, type QueueType } from "../rows/runnable.ts";

/** Parameters of the `limit_` functions: the queue, its types, and the numbers of attempts of their handlers. */
export const limitParams = (
  queueTypes: readonly QueueType[],
  maxAttempts: MaxAttempts | undefined,
): [queue: string, numbers: string, attempts: string] => [
  queueTypes[0]!.queue,
  arrayLiteral(queueTypes.map(({ number }) => number)),
  listAttemptOverrides(queueTypes, maxAttempts),
];

const claimSql = ({ schema }: Tables): string => `
SELECT coalesce(j.queue_type, j.claim_key) AS queue_type, j.position, ${claimedColumns("j", true)}
FROM ${schema}.limit_claim($1::bigint, $2::text, $3::bigint[], $4::int[], $5::int, $6::bigint, $7::text, $8::text, $9::text) AS j`;

interface ClaimedRow {
  readonly job: StateJob;
  readonly position: number;
}

const isBefore = (a: ClaimedRow, b: ClaimedRow): boolean =>
  (b.job.priority - a.job.priority || a.job.scheduledAt - b.job.scheduledAt || a.position - b.position) < 0;

/** Merges the jobs of each type, which come in the order of its turns, by the order of claims. */
const mergeTypes = (types: readonly ClaimedRow[][]): StateJob[] => {
  if (types.length < 2) return types.flatMap((rows) => rows.map(({ job }) => job));
  const left = types.map((rows) => rows.toReversed());
  const merged: StateJob[] = [];
  for (;;) {
    let first: ClaimedRow[] | undefined;
    for (const rows of left)
      if (rows.length > 0 && (first === undefined || isBefore(rows.at(-1)!, first.at(-1)!))) first = rows;
    if (first === undefined) return merged;
    merged.push(first.pop()!.job);
  }
};

/** Claims jobs of one queue that has rules or groups. The function reads the rules, so they are never out of date. */
export const claimLimited = async (
  database: Database,
  call: Call & ClaimCall,
  queueTypes: readonly QueueType[],
  limit: number,
): Promise<StateJob[]> => {
  if (limit <= 0) return [];
  const rows = await database.query(call.ctx, {
    name: "claim_limited",
    sql: claimSql,
    params: [
      call.now ?? null,
      ...limitParams(queueTypes, call.maxAttempts),
      limit,
      call.leaseMs,
      call.leaseToken,
      call.workerId,
      call.deployment ?? null,
    ],
  });
  const types = new Map(
    queueTypes.map((queueType) => [
      queueType.number,
      { read: createClaimedJobReader(queueType, call), rows: [] as ClaimedRow[] },
    ]),
  );
  for (const row of rows) {
    const type = types.get(String(row["queue_type"]))!;
    type.rows.push({ job: type.read(row), position: Number(row["position"]) });
  }
  const jobs = mergeTypes([...types.values()].map((type) => type.rows).filter((each) => each.length > 0));
  if (jobs.some(({ limited }) => limited)) database.limits.rememberCounted(call.leaseToken);
  return jobs;
};

/** The lock under which groups and counters of a queue are written, as in the functions. Held until the transaction ends. */
export const lockQueue = async ({ query, tables }: Database, ctx: Context, queue: string): Promise<void> => {
  await query(ctx, {
    sql: "SELECT pg_advisory_xact_lock(hashtextextended($1::text || $2::text, 0))::text",
    params: [`leasehold limits of ${tables.schema.replaceAll('"', "")} `, queue],
  });
};

/**
 * Applies the edits and deltas of a queue before a read. Skipped in a transaction of the caller, which would hold the lock of the queue
 * until it ends.
 */
export const settleQueue = async (
  { query, tables }: Database,
  call: Call,
  queue: string,
  queueTypes: readonly QueueType[],
): Promise<void> => {
  if (call.ctx !== undefined) return;
  await query(undefined, {
    sql: `SELECT ${tables.schema}.limit_settle($1::bigint, $2::text, $3::bigint[])`,
    params: [call.now ?? null, queue, arrayLiteral(queueTypes.map(({ number }) => number))],
  });
};
