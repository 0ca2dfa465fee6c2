import {
  assertLeaseDuration,
  findRefusal,
  refuse,
  type RenewalResult,
  type RenewLeasesCall,
} from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { leaseColumns, toLeaseState } from "../lease-state.ts";
import type { SqlRow } from "../provider.ts";
import { arrayLiteral, unnestParameters } from "../sql/array-literal.ts";
import { clockCte, now } from "../sql/clock.ts";
import type { Tables } from "../tables.ts";

// A lease that is valid as the statement sees it, and was not renewed nevertheless, is of a job that somebody has locked.
const renewSql = ({ job, idType }: Tables): string => `
WITH ${clockCte("$1")},
lease AS MATERIALIZED (
  SELECT * FROM ${unnestParameters([`$2::${idType}[]`, "$3::text[]", "$4::bigint[]", "$5::text[]"])} WITH ORDINALITY
    AS t (id, token, ms, progress, ordinal) LIMIT (SELECT 2147483647)
),
held AS MATERIALIZED (
  SELECT j.id FROM ${job} AS j JOIN lease ON lease.id = j.id
  WHERE (j.status = 'running') IS TRUE AND j.lease_token = lease.token AND j.due_at > ${now}
  ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED
),
renewed AS (
  UPDATE ${job} AS j SET due_at = ${now} + lease.ms, progress = coalesce(lease.progress, j.progress)
  FROM held JOIN lease ON lease.id = held.id
  WHERE j.id = held.id AND j.lease_token = lease.token
  RETURNING j.id, j.due_at, lease.ordinal
)
SELECT ${now} AS now, renewed.due_at AS renewed_until, ${leaseColumns("j")}
FROM lease LEFT JOIN renewed ON renewed.ordinal = lease.ordinal LEFT JOIN ${job} AS j ON j.id = lease.id
ORDER BY lease.ordinal`;

const toRenewal = (row: SqlRow | undefined, leaseToken: string): RenewalResult => {
  if (row === undefined) return refuse("not_found", undefined);
  if (row["renewed_until"] !== null) return { kind: "renewed", leasedUntil: Number(row["renewed_until"]) };
  const state = toLeaseState(row);
  if (state === undefined) return refuse("not_found", undefined);
  return findRefusal(state, leaseToken, Number(row["now"])) ?? { kind: "busy" };
};

export const renewLeases = async (
  { query, isId }: Database,
  call: Call & RenewLeasesCall,
): Promise<RenewalResult[]> => {
  for (const { leaseMs } of call.leases) assertLeaseDuration(leaseMs);
  const leases = call.leases.filter(({ jobId }) => isId(jobId));
  if (leases.length === 0) return call.leases.map(() => refuse("not_found", undefined));
  const rows = await query(call.ctx, {
    name: "renew",
    sql: renewSql,
    params: [
      call.now ?? null,
      arrayLiteral(leases.map(({ jobId }) => jobId)),
      arrayLiteral(leases.map(({ leaseToken }) => leaseToken)),
      arrayLiteral(leases.map(({ leaseMs }) => leaseMs)),
      arrayLiteral(leases.map(({ progress }) => progress ?? null)),
    ],
  });
  const rowOf = new Map(leases.map((lease, index) => [lease, rows[index]]));
  return call.leases.map((lease) => toRenewal(rowOf.get(lease), lease.leaseToken));
};
