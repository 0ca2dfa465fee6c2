import type { JobCount, JobFilter, JobPage, PagePosition, StateJob, StateSequence } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../connection/connection.ts";
import { jobColumns, queryJobs } from "../job-columns.ts";
import type { Tables } from "../tables.ts";
import type { Blockers } from "./add-job-blockers.ts";
import { toCondition } from "../job-filter.ts";
import type { Sequences } from "./get-jobs.ts";

export interface PageCall {
  readonly limit: number;
  readonly after: PagePosition | null;
}

interface ListCall extends PageCall {
  readonly filter: JobFilter;
  readonly order: "oldest" | "newest";
}

export interface Queries {
  listJobs(db: SqliteConnection, call: ListCall): JobPage;
  listBlockedJobs(db: SqliteConnection, call: PageCall & { readonly sequenceId: string }): JobPage;
  getBlockers(db: SqliteConnection, jobIds: readonly string[]): StateSequence[][];
  countJobs(db: SqliteConnection, filter: JobFilter): JobCount[];
  countAhead(db: SqliteConnection, jobId: string, now: number): number | null;
}

/** One more than asked for shows whether there is a next page. */
const toPage = (jobs: readonly StateJob[], limit: number): JobPage => {
  const page = jobs.slice(0, limit);
  const last = page.at(-1);
  const next = jobs.length > limit && last !== undefined ? { createdAt: last.createdAt, id: last.id } : null;
  return { jobs: page, next };
};

// Looked at in one call at most: the process does nothing else meanwhile.
const mostLookedAt = 20_000;

/** Whether an index leads to the jobs of the filter, so that there are not many to go through. */
const isNarrow = ({ ids, sequenceId, rootSequenceId, statuses }: JobFilter): boolean =>
  ids !== undefined ||
  sequenceId !== undefined ||
  rootSequenceId !== undefined ||
  (statuses?.length === 1 && ["failed", "running"].includes(statuses[0]!));

/** Whether the index of deduplication keys is the way to the jobs of the filter. */
const isByKey = (filter: JobFilter): boolean =>
  filter.deduplicationKeys !== undefined && filter.sequenceTypeNames !== undefined && !isNarrow(filter);

export const createQueries = (tables: Tables, sequences: Sequences, blockers: Blockers): Queries => {
  const { job, blocker, createdIndex, keyIndex, pendingIndex, runningIndex } = tables;
  const page = (
    db: SqliteConnection,
    condition: string,
    values: readonly SqliteValue[],
    order: "oldest" | "newest",
    { limit, after }: PageCall,
    index = "",
  ): JobPage => {
    const [comparison, direction] = order === "oldest" ? [">", "ASC"] : ["<", "DESC"];
    // The plain bound on the time is what an index can use; the pair settles ties.
    const from =
      after === null ? "" : `AND j.created_at ${comparison}= ? AND (j.created_at, j.id) ${comparison} (?, ?)`;
    const sql = `SELECT ${jobColumns("j")} FROM ${job} AS j ${index} WHERE ${condition} ${from}
      ORDER BY j.created_at ${direction}, j.id ${direction} LIMIT ?`;
    const position = after === null ? [] : [after.createdAt, after.createdAt, after.id];
    return toPage(queryJobs(db, sql, [...values, ...position, limit + 1]), limit);
  };

  /** Along the index of creation, past no more jobs than a call may look at. */
  const boundedPage = (
    db: SqliteConnection,
    condition: string,
    values: readonly SqliteValue[],
    { filter, order, limit, after }: ListCall,
  ): JobPage => {
    const [comparison, direction] = order === "oldest" ? [">", "ASC"] : ["<", "DESC"];
    const from =
      after === null ? "" : `AND created_at ${comparison}= ? AND (created_at, id) ${comparison} (?, ?)`;
    const position = [
      filter.createdFrom ?? 0,
      filter.createdBefore ?? Number.MAX_SAFE_INTEGER,
      ...(after === null ? [] : [after.createdAt, after.createdAt, after.id]),
    ];
    const walk = (columns: string): string =>
      `SELECT ${columns} FROM ${job} INDEXED BY ${createdIndex} WHERE created_at >= ? AND created_at < ? ${from}
        ORDER BY created_at ${direction}, id ${direction}`;
    const found = queryJobs(
      db,
      `SELECT ${jobColumns("j")} FROM (${walk("seq")} LIMIT ${mostLookedAt}) AS looked_at
        CROSS JOIN ${job} AS j ON j.seq = looked_at.seq WHERE ${condition} LIMIT ?`,
      [...position, ...values, limit + 1],
    );
    const listed = toPage(found, limit);
    if (listed.next !== null) return listed;
    const last = db.first(`${walk("created_at, id")} LIMIT 1 OFFSET ${mostLookedAt - 1}`, position);
    return last === undefined
      ? listed
      : { ...listed, next: { createdAt: last[0] as number, id: last[1] as string } };
  };

  // Named: where statistics know of few keys, SQLite would rather go through all jobs.
  const byKey = `INDEXED BY ${keyIndex}`;
  const inBlocked = `j.id IN (SELECT job_id FROM ${blocker} WHERE sequence_id = ?)`;
  const findPlace = `SELECT queue, priority, scheduled_at, seq FROM ${job} WHERE id = ? AND status = 'pending'`;
  // Those that would go first at the moment this one falls due, as far as that can be foreseen.
  const goesFirst = (at: string): string => `j.queue = p.queue AND ${at} <= p.moment
    AND (j.priority > p.priority OR j.priority = p.priority AND (${at} < p.at OR ${at} = p.at AND j.seq < p.seq))`;
  const count = `WITH place (queue, priority, at, seq, moment, now) AS (VALUES (?, ?, ?, ?, ?, ?)) SELECT
    (SELECT count(*) FROM place AS p CROSS JOIN ${job} AS j INDEXED BY ${pendingIndex}
      WHERE j.status = 'pending' AND ${goesFirst("j.scheduled_at")}) +
    (SELECT count(*) FROM place AS p CROSS JOIN ${job} AS j INDEXED BY ${runningIndex}
      WHERE j.status = 'running' AND j.leased_until <= p.now AND j.attempt < j.max_attempts
        AND ${goesFirst("j.leased_until")})`;

  return {
    listJobs: (db, call) => {
      const { sql, values } = toCondition(call.filter);
      if (isNarrow(call.filter)) return page(db, sql, values, call.order, call);
      if (isByKey(call.filter)) return page(db, sql, values, call.order, call, byKey);
      return boundedPage(db, sql, values, call);
    },
    listBlockedJobs: (db, call) => page(db, inBlocked, [call.sequenceId], "oldest", call),
    getBlockers: (db, jobIds) =>
      jobIds.map((jobId) =>
        sequences.getMany(db, blockers.of(db, jobId)).filter((sequence) => sequence !== undefined),
      ),
    countJobs: (db, filter) => {
      const { sql, values } = toCondition(filter);
      return db
        .query(
          `SELECT j.queue, j.type_name, j.status, count(*) FROM ${job} AS j ${isByKey(filter) ? byKey : ""}
           WHERE ${sql} GROUP BY j.queue, j.type_name, j.status`,
          values,
        )
        .map(([queue, typeName, status, number]) => ({ queue, typeName, status, count: number }) as JobCount);
    },
    countAhead: (db, jobId, now) => {
      const place = db.first(findPlace, [jobId]);
      if (place === undefined) return null;
      const [queue, priority, scheduledAt, seq] = place as [string, number, number, number];
      const moment = Math.max(now, scheduledAt);
      return db.first(count, [queue, priority, scheduledAt, seq, moment, now])?.[0] as number;
    },
  };
};
