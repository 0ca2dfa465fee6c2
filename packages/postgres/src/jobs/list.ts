import type { JobFilter, JobPage, JobStatus, ListJobsCall, PagePosition, StateJob } from "leasehold/adapter";
import { byIndexOnly, type Call, type Database } from "../database/database.ts";
import { text } from "../database/sql.ts";
import { jobColumns, toStateJob } from "../rows/job-table.ts";
import { runOrder } from "../rows/runnable.ts";
import { filterConditions } from "./filter.ts";
import { toPage } from "./reads.ts";

interface PageByCreation extends ReturnType<typeof filterConditions> {
  /** What to sort by. */
  readonly order: string;
}

/**
 * What a page of jobs `j` in the order of `created_at` is made of. The last parameter is its limit. Undefined if it is to come
 * after a job that cannot exist.
 */
const pageByCreation = (
  { tables, isId }: Database,
  { filter, order, after, limit }: ListJobsCall,
): PageByCreation | undefined => {
  const { conditions, params } = filterConditions(tables, isId, filter);
  const [direction, comparison] = order === "oldest" ? ["ASC", ">"] : ["DESC", "<"];
  if (after !== null) {
    if (!isId(after.id)) return undefined;
    params.push(after.createdAt, after.id);
    conditions.push(
      `(j.created_at, j.id) ${comparison} ($${params.length - 1}::bigint, $${params.length}::${tables.idType})`,
    );
  }
  params.push(limit + 1);
  return { conditions, params, order: `j.created_at ${direction}, j.id ${direction}` };
};

/**
 * The indexes that have the jobs of a status; a job may be in two of them. Completed jobs are in none, and too many. With old
 * statistics the planner expects many jobs of a status that no job has, and reads the whole table to find the first. The order
 * of an index makes it use that index.
 */
const places: Readonly<Partial<Record<JobStatus, (isDue: string) => readonly string[]>>> = {
  pending: (isDue) => [
    `ready ORDER BY claim_key, ${runOrder}`,
    `status = 'pending' AND NOT ready AND ${isDue} ORDER BY claim_key, due_at`,
  ],
  blocked: () => ["status = 'blocked' ORDER BY claim_key"],
  running: () => ["status = 'running' ORDER BY due_at"],
  failed: () => ["status = 'failed' ORDER BY created_at, id"],
};

/** The most jobs that are read and sorted for a page. */
const mostSorted = 5_000;

const placesOf = ({ statuses }: JobFilter, isDue: string): readonly string[] | undefined => {
  const all = statuses?.map((status) => places[status]?.(isDue));
  return all === undefined || all.includes(undefined) ? undefined : all.flatMap((of) => of ?? []);
};

/**
 * A page of waiting, running or failed jobs, if there are few of them: reads all of these and no completed jobs. Undefined if
 * there are many, or for other statuses.
 */
const listFewJobs = async (database: Database, call: Call & ListJobsCall): Promise<JobPage | undefined> => {
  const { query, tables } = database;
  const page = pageByCreation(database, call);
  if (page === undefined) return { jobs: [], next: null };
  const { conditions, params, order } = page;
  const limit = `$${params.length}::int`;
  // A filter by scheduled time leaves out deferred jobs, of which there may be many.
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

type ListCall = Call & ListJobsCall;

/** In the order of `created_at`. Sorts all jobs of the filter, unless an index has them in that order. */
const listByCreation = async (database: Database, call: ListCall): Promise<JobPage> => {
  const { query, tables } = database;
  const page = pageByCreation(database, call);
  if (page === undefined) return { jobs: [], next: null };
  const { conditions, params, order } = page;
  const rows = await query(call.ctx, {
    sql: `SELECT ${jobColumns("j")} FROM ${tables.job} AS j WHERE ${conditions.join(" AND ")}
      ORDER BY ${order} LIMIT $${params.length}::int`,
    params,
  });
  return toPage(rows.map(toStateJob), call.limit);
};

/** Whether an index has the jobs of the filter, so that there are not many to sort. */
const isNarrow = ({
  ids,
  idPrefix,
  sequenceTypeNames,
  deduplicationKeys,
  sequenceId,
  rootSequenceId,
  fingerprints,
  leasedBy,
  statuses,
  inputContains,
}: JobFilter): boolean =>
  ids !== undefined ||
  idPrefix !== undefined ||
  (sequenceTypeNames !== undefined && deduplicationKeys !== undefined) ||
  sequenceId !== undefined ||
  rootSequenceId !== undefined ||
  fingerprints !== undefined ||
  leasedBy !== undefined ||
  statuses?.length === 0 ||
  // All jobs that have failed may be too many to search their inputs at once.
  (inputContains === undefined && statuses?.length === 1 && ["failed", "running"].includes(statuses[0]!));

/** Whether an index has the jobs of the filter in the order of a page. */
const isByOwner = ({ groups, recurringJobIds }: JobFilter): boolean =>
  groups?.length === 1 || recurringJobIds?.length === 1;

// No job is older than this.
const earliest = Date.UTC(2020, 0, 1);
// The most that the clock of a process may differ from that of the store.
const clockToleranceMs = 3_600_000;

/** The smallest UUID of version 7 of a time. */
const idOfTime = (ms: number): string => {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
};

/**
 * Whether the ids of this table are in the order of time. The UUIDs of version 7 of the present are a small part of all
 * possible ones, and random ids lie anywhere, so the first and the last id of the table show which kind they are.
 */
const hasTimeOrderedIds = async ({ query, tables }: Database, call: Call): Promise<boolean> => {
  if (tables.idType !== "uuid") return false;
  const [row] = await query(call.ctx, {
    name: "id_range",
    sql: ({ job }) => `SELECT (SELECT id FROM ${job} ORDER BY id LIMIT 1) AS first,
      (SELECT id FROM ${job} ORDER BY id DESC LIMIT 1) AS last,
      floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`,
    params: [],
  });
  if (row === undefined || row["first"] === null) return false;
  const latest = Number(row["now"]) + clockToleranceMs;
  return text(row["first"]) >= idOfTime(earliest) && text(row["last"]) <= idOfTime(latest);
};

// The most jobs that a call reads.
const mostRead = 50_000;

const firstRead = 1_000;

/** In the order of the primary key. Never sorts, and reads a limited number of jobs. */
const listByKey = async (database: Database, call: ListCall): Promise<JobPage> => {
  const { query, tables, isId } = database;
  const { filter, limit, after } = call;
  if (after !== null && !isId(after.id)) return { jobs: [], next: null };
  const [direction, comparison] = call.order === "oldest" ? ["ASC", ">"] : ["DESC", "<"];
  const found: StateJob[] = [];
  let position: PagePosition | null = after;
  let readCount = 0;

  /** Reads the next jobs by key and keeps those of the filter. False if there are no more. */
  const readNext = async (size: number): Promise<boolean> => {
    const { conditions, params } = filterConditions(tables, isId, filter);
    const bounds: string[] = ["true"];
    const bound = (sql: string, value: string): void => {
      params.push(value);
      bounds.push(`id ${sql} $${params.length}::${tables.idType}`);
    };
    if (position !== null) bound(comparison, position.id);
    if (filter.createdFrom !== undefined) bound(">=", idOfTime(filter.createdFrom - clockToleranceMs));
    if (filter.createdBefore !== undefined) bound("<", idOfTime(filter.createdBefore + clockToleranceMs));
    params.push(size, limit + 1 - found.length);
    const [sizeParam, limitParam] = [`$${params.length - 1}::int`, `$${params.length}::int`];
    const rows = await query(call.ctx, {
      sql: `WITH next AS (
          SELECT * FROM ${tables.job} WHERE ${bounds.join(" AND ")} ORDER BY id ${direction} LIMIT ${sizeParam}
        ), found AS (
          SELECT j.* FROM next AS j WHERE ${conditions.join(" AND ")} ORDER BY j.id ${direction} LIMIT ${limitParam}
        ), last AS (
          SELECT id, created_at FROM next ORDER BY id ${direction === "ASC" ? "DESC" : "ASC"} LIMIT 1
        )
        SELECT (SELECT count(*) FROM next) AS read_count, (SELECT id FROM last) AS last_id,
          (SELECT created_at FROM last) AS last_created_at, ${jobColumns("j")}
        FROM (SELECT) AS always LEFT JOIN found AS j ON true ORDER BY j.id ${direction}`,
      params,
    });
    const [first] = rows;
    for (const row of rows) if (row["id"] !== null) found.push(toStateJob(row));
    const count = Number(first?.["read_count"]);
    readCount += count;
    if (count < size) return false;
    position = { createdAt: Number(first?.["last_created_at"]), id: text(first?.["last_id"]) };
    return true;
  };

  let hasMore = await readNext(Math.max(firstRead, limit + 1));
  while (hasMore && found.length <= limit && readCount < mostRead) hasMore = await readNext(mostRead / 5);
  const page = toPage(found, limit);
  return page.next === null && hasMore ? { ...page, next: position } : page;
};

/** The types of sequences with keys, by a loose scan of the index of keys, which begins with them. */
const listTypesWithKeys = async ({ query }: Database, call: Call): Promise<string[]> => {
  const rows = await query(call.ctx, {
    name: "types_with_keys",
    sql: ({ job }) => `WITH RECURSIVE found AS (
        SELECT min(sequence_type_name) AS name FROM ${job} WHERE deduplication_key IS NOT NULL
        UNION ALL
        SELECT (SELECT min(j.sequence_type_name) FROM ${job} AS j
          WHERE j.deduplication_key IS NOT NULL AND j.sequence_type_name > found.name)
        FROM found WHERE found.name IS NOT NULL
      ) SELECT name FROM found WHERE name IS NOT NULL`,
    params: [],
  });
  return rows.map((row) => text(row["name"]));
};

/** A key belongs to a type: a filter by key alone gets all types with keys. */
const withTypesOfKeys = async (database: Database, call: ListCall): Promise<ListCall> => {
  const { filter } = call;
  if (filter.deduplicationKeys === undefined || filter.sequenceTypeNames !== undefined) return call;
  return { ...call, filter: { ...filter, sequenceTypeNames: await listTypesWithKeys(database, call) } };
};

export const listJobs = async (database: Database, given: ListCall): Promise<JobPage> => {
  const call = isNarrow(given.filter) ? given : await withTypesOfKeys(database, given);
  if (!isNarrow(call.filter) && isByOwner(call.filter)) {
    return byIndexOnly(
      database,
      call.ctx,
      async (ctx) =>
        (await listFewJobs(database, { ...call, ctx })) ?? (await listByCreation(database, { ...call, ctx })),
    );
  }
  if (isNarrow(call.filter) || !(await hasTimeOrderedIds(database, call)))
    return listByCreation(database, call);
  return byIndexOnly(
    database,
    call.ctx,
    async (ctx) =>
      (await listFewJobs(database, { ...call, ctx })) ?? (await listByKey(database, { ...call, ctx })),
  );
};
