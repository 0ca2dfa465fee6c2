import type { ClaimCall, MaxAttempts, StateJob } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { claimedColumns, createClaimedJobReader } from "../job-rows.ts";
import type { QueueType } from "../queue-types.ts";
import { arrayLiteral } from "../sql/array-literal.ts";
import type { Tables } from "../tables.ts";

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
