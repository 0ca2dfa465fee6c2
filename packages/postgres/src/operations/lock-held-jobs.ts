import {
  findRefusal,
  type HeldLease,
  type LockHeldJobsCall,
  type LockResult,
  refuse,
} from "leasehold/adapter";
import type { Call, Context, Database } from "../database.ts";
import { leaseColumns, toLeaseState } from "../lease-state.ts";
import type { SqlRow } from "../provider.ts";
import { arrayLiteral } from "../sql/array-literal.ts";
import { nowSql } from "../sql/clock.ts";
import { text } from "../sql/row-values.ts";

type LockCall = Call & { readonly ctx: Context } & LockHeldJobsCall;

/** Handlers without a batch lock one job at a time, and nearly every transaction begins with this: it has a statement of its own. */
const lockOne = ({ query, tables }: Database, call: LockCall, jobId: string): Promise<readonly SqlRow[]> =>
  query(call.ctx, {
    name: "lock_held_job",
    sql: () => `SELECT ${nowSql("$1")} AS now, j.id, ${leaseColumns("j")} FROM ${tables.job} AS j
      WHERE j.id = $2 FOR NO KEY UPDATE`,
    params: [call.now ?? null, jobId],
  });

const lockMany = (
  { query, tables }: Database,
  call: LockCall,
  jobIds: readonly string[],
): Promise<readonly SqlRow[]> =>
  query(call.ctx, {
    name: "lock_held_jobs",
    sql: () => `SELECT ${nowSql("$1")} AS now, j.id, ${leaseColumns("j")} FROM ${tables.job} AS j
      WHERE j.id = ANY ($2::${tables.idType}[]) ORDER BY j.id FOR NO KEY UPDATE`,
    params: [call.now ?? null, arrayLiteral(jobIds)],
  });

const judge = ({ leaseToken }: HeldLease, row: SqlRow | undefined): LockResult => {
  const state = row && toLeaseState(row);
  if (row === undefined || state === undefined) return refuse("not_found", undefined);
  return findRefusal(state, leaseToken, Number(row["now"])) ?? { kind: "locked" };
};

export const lockHeldJobs = async (database: Database, call: LockCall): Promise<LockResult[]> => {
  const jobIds = call.leases.map(({ jobId }) => jobId).filter(database.isId);
  if (jobIds.length === 0) return call.leases.map(() => refuse("not_found", undefined));
  const rows = await (jobIds.length === 1
    ? lockOne(database, call, jobIds[0]!)
    : lockMany(database, call, jobIds));
  const rowOf = new Map(rows.map((row) => [text(row["id"]), row]));
  return call.leases.map((lease) => judge(lease, rowOf.get(lease.jobId)));
};
