import type { JobFilter, JobPage, JobStatus, ListJobsCall } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { jobColumns } from "../job-columns.ts";
import { toStateJob } from "../job-rows.ts";
import { toPage } from "../page.ts";
import { runOrder } from "../runnable.ts";
import { pageByCreation } from "./page-by-creation.ts";

/**
 * Where jobs of a status are; a job may be in two of these places. Completed jobs have none, and there are too many of them.
 * With old statistics the planner takes a state that nobody is in for a common one, and reads the whole table to find the
 * first of it. The order is that of the index of the place, so that it goes by that one.
 */
const places: Readonly<Partial<Record<JobStatus, (isDue: string) => readonly string[]>>> = {
  pending: (isDue) => [
    `ready ORDER BY lane, ${runOrder}`,
    `status = 'pending' AND NOT ready AND ${isDue} ORDER BY lane, due_at`,
  ],
  blocked: () => ["status = 'blocked' ORDER BY lane"],
  running: () => ["status = 'running' ORDER BY due_at"],
  failed: () => ["status = 'failed' ORDER BY created_at, id"],
};

/** As many as are read and sorted without anybody noticing. */
const mostSorted = 5_000;

const placesOf = ({ statuses }: JobFilter, isDue: string): readonly string[] | undefined => {
  const all = statuses?.map((status) => places[status]?.(isDue));
  return all === undefined || all.includes(undefined) ? undefined : all.flatMap((of) => of ?? []);
};

/**
 * A page of jobs that wait, run or have failed, if there are few in these states: then all of them are looked at, however many
 * have completed since. Undefined if there are many, or if other states are asked for.
 */
export const listFewJobs = async (
  database: Database,
  call: Call & ListJobsCall,
): Promise<JobPage | undefined> => {
  const { query, tables } = database;
  const page = pageByCreation(database, call);
  if (page === undefined) return { jobs: [], next: null };
  const { conditions, params, order } = page;
  const limit = `$${params.length}::int`;
  // There may be many jobs for later, which are not looked at where only those are wanted that are due before a moment.
  const { statuses, scheduledBefore } = call.filter;
  const isDue =
    scheduledBefore !== undefined && statuses?.includes("pending")
      ? `due_at < $${params.push(scheduledBefore)}::bigint`
      : "true";
  const found = placesOf(call.filter, isDue);
  if (found === undefined || found.length === 0) return undefined;
  const rows = await query(call.ctx, {
    sql: `WITH few AS MATERIALIZED (
        ${found.map((place) => `(SELECT id FROM ${tables.job} WHERE ${place} LIMIT ${mostSorted + 1})`).join(" UNION ")}
      ), size AS MATERIALIZED (SELECT count(*) AS size FROM few), page AS (
        SELECT j.* FROM few JOIN ${tables.job} AS j ON j.id = few.id
        WHERE (SELECT size FROM size) <= ${mostSorted} AND ${conditions.join(" AND ")}
        ORDER BY ${order} LIMIT ${limit}
      )
      SELECT (SELECT size FROM size) AS size, ${jobColumns("j")} FROM (SELECT) AS always LEFT JOIN page AS j ON true
      ORDER BY ${order}`,
    params,
  });
  if (Number(rows[0]?.["size"]) > mostSorted) return undefined;
  return toPage(rows.filter((row) => row["id"] !== null).map(toStateJob), call.limit);
};
