import type { ClaimCall, MaxAttempts, StateJob } from "leasehold/adapter";
import type { Call, Context, Database } from "../database/database.ts";
import { arrayLiteral } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { claimedColumns, createClaimedJobReader } from "../rows/job-table.ts";
import type { QueueType } from "../rows/runnable.ts";

/** What the functions for queues with rules take: the queue, its types, and the numbers of attempts that their handlers have. */
export const ruledParams = (
  queueTypes: readonly QueueType[],
  maxAttempts: MaxAttempts = {},
): [queue: string, homes: string, attempts: string] => [
  queueTypes[0]!.queue,
  arrayLiteral(queueTypes.map(({ number }) => number)),
  arrayLiteral(
    queueTypes.map(({ typeName }) =>
      Object.hasOwn(maxAttempts, typeName) ? (maxAttempts[typeName] ?? null) : null,
    ),
  ),
];

const claimSql = ({ schema }: Tables): string => `
SELECT coalesce(j.home, j.lane) AS home, ${claimedColumns("j", true)}
FROM ${schema}.flow_claim($1::bigint, $2::text, $3::bigint[], $4::int[], $5::int, $6::bigint, $7::text, $8::text) AS j`;

/** Takes jobs of one queue that has rules or groups. The function reads the rules itself, so they are never out of date. */
export const claimRuled = async (
  database: Database,
  call: Call & ClaimCall,
  queueTypes: readonly QueueType[],
  limit: number,
): Promise<StateJob[]> => {
  if (limit <= 0) return [];
  const rows = await database.query(call.ctx, {
    name: "claim_ruled",
    sql: claimSql,
    params: [
      call.now ?? null,
      ...ruledParams(queueTypes, call.maxAttempts),
      limit,
      call.leaseMs,
      call.leaseToken,
      call.workerId,
    ],
  });
  const readers = new Map(
    queueTypes.map((queueType) => [queueType.number, createClaimedJobReader(queueType, call)]),
  );
  const jobs = rows.map((row) => readers.get(String(row["home"]))!(row));
  if (jobs.some(({ limited }) => limited)) database.flow.rememberCounted(call.leaseToken);
  return jobs;
};

/** The lock under which lines and counters of a queue are written, until the transaction ends. The functions take it, too. */
export const lockQueue = async ({ query, tables }: Database, ctx: Context, queue: string): Promise<void> => {
  await query(ctx, {
    sql: "SELECT pg_advisory_xact_lock(hashtextextended($1::text || $2::text, 0))::text",
    params: [`leasehold flow of ${tables.schema.replaceAll('"', "")} `, queue],
  });
};

/**
 * Makes the lines of a queue show what has happened so far, before they are read. In a transaction of the caller nothing is
 * done: the lock of the queue would be held until that ends.
 */
export const settleQueue = async (
  { query, tables }: Database,
  call: Call,
  queueTypes: readonly QueueType[],
): Promise<void> => {
  if (call.ctx !== undefined || queueTypes.length === 0) return;
  const [queue, homes] = ruledParams(queueTypes);
  await query(undefined, {
    sql: `SELECT ${tables.schema}.flow_settle($1::bigint, $2::text, $3::bigint[])`,
    params: [call.now ?? null, queue, homes],
  });
};
