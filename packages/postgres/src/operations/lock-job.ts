import { findRefusal, type HeldLease, type LockResult, refuse } from "leasehold/adapter";
import type { Call, Context, Database } from "../database.ts";
import { leaseColumns, toLeaseState } from "../lease-state.ts";
import { nowSql } from "../sql/clock.ts";

export const lockJob = async (
  { query, tables, isId }: Database,
  call: Call & { readonly ctx: Context } & HeldLease,
): Promise<LockResult> => {
  if (!isId(call.jobId)) return refuse("not_found", undefined);
  const [row] = await query(call.ctx, {
    name: "lock_job",
    sql: () => `SELECT ${nowSql("$1")} AS now, ${leaseColumns("j")} FROM ${tables.job} AS j
      WHERE id = $2 FOR NO KEY UPDATE`,
    params: [call.now ?? null, call.jobId],
  });
  const state = row && toLeaseState(row);
  if (row === undefined || state === undefined) return refuse("not_found", undefined);
  return findRefusal(state, call.leaseToken, Number(row["now"])) ?? { kind: "locked" };
};
