import type { StateJob } from "leasehold/adapter";
import type { Call, Context, Database } from "./database.ts";
import { jobColumns } from "./job-columns.ts";
import { toStateJob } from "./job-rows.ts";
import type { SqlRow } from "./provider.ts";
import { arrayLiteral } from "./sql/array-literal.ts";
import { clockCte, now } from "./sql/clock.ts";
import { numberOrNull, text, textOrNull } from "./sql/row-values.ts";

/** A job whose row the transaction has locked. */
export interface LockedJob extends StateJob {
  /** The end of its sequence changes other rows: jobs that wait for it, or its first job, which has the deduplication key. */
  readonly endConcernsOthers: boolean;
  readonly flow: JobFlow;
}

/** Where a job waits, and where it is counted. */
export interface JobFlow {
  readonly lane: string;
  /** Of a job with a group, the lane of its queue and type. */
  readonly home: string | null;
  readonly slots: number | null;
}

export const lockedColumns = (table: string): string =>
  `${jobColumns(table)}, ${table}.lane, ${table}.home, ${table}.watched OR ${table}.deduplication_key IS NOT NULL AS end_concerns_others`;

export const toLockedJob = (row: SqlRow): LockedJob => ({
  ...toStateJob(row),
  endConcernsOthers: row["end_concerns_others"] === true,
  flow: {
    lane: text(row["lane"]),
    home: textOrNull(row["home"]),
    slots: numberOrNull(row["slots"]),
  },
});

/** The job as the contract has it. */
export const asStateJob = ({
  endConcernsOthers: _endConcernsOthers,
  flow: _flow,
  ...job
}: LockedJob): StateJob => job;

/** Locks jobs until the transaction ends. Returns them by id, and the time at which that was asked for. */
export const lockJobs = async (
  { query, tables, isId }: Database,
  call: Call & { readonly ctx: Context },
  jobIds: readonly string[],
): Promise<{ readonly jobs: Map<string, LockedJob>; readonly at: number }> => {
  const rows = await query(call.ctx, {
    name: "lock_jobs",
    sql: () => `WITH ${clockCte("$1")}, locked AS MATERIALIZED (
        SELECT ${lockedColumns("j")} FROM ${tables.job} AS j WHERE j.id = ANY ($2::${tables.idType}[])
        ORDER BY j.id FOR NO KEY UPDATE OF j
      )
      SELECT ${now} AS now, locked.* FROM (SELECT) AS always LEFT JOIN locked ON true`,
    params: [call.now ?? null, arrayLiteral(jobIds.filter(isId))],
  });
  const jobs = rows.filter((row) => row["id"] !== null).map(toLockedJob);
  return { jobs: new Map(jobs.map((job) => [job.id, job])), at: Number(rows[0]?.["now"]) };
};
