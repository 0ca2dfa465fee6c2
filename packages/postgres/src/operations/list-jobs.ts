import type { JobFilter, JobPage, ListJobsCall, PagePosition, StateJob } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { jobColumns } from "../job-columns.ts";
import { toStateJob } from "../job-rows.ts";
import { byIndexOnly } from "../sql/index-only.ts";
import { text } from "../sql/row-values.ts";
import { filterConditions } from "../job-filter.ts";
import { toPage } from "../page.ts";
import { listFewJobs } from "./list-few-jobs.ts";
import { pageByCreation } from "./page-by-creation.ts";

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
  (sequenceTypeNames !== undefined && deduplicationKeys !== undefined) ||
  sequenceId !== undefined ||
  rootSequenceId !== undefined ||
  fingerprints !== undefined ||
  leasedBy !== undefined ||
  statuses?.length === 0 ||
  // All jobs that have failed may be too many to search their inputs at once.
  (inputContains === undefined && statuses?.length === 1 && ["failed", "running"].includes(statuses[0]!));

// Leasehold did not exist before.
const earliest = Date.UTC(2020, 0, 1);
// How far the clock that made an id may be from the clock of the store.
const clockToleranceMs = 3_600_000;

/** The smallest UUID of version 7 of a moment. */
const idOfMoment = (ms: number): string => {
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
  return text(row["first"]) >= idOfMoment(earliest) && text(row["last"]) <= idOfMoment(latest);
};

// How many jobs a call may look at, and so a statement.
const mostLookedAt = 50_000;
const firstLook = 1_000;

/** In the order of the primary key. Never sorts, and looks at no more than a fixed number of jobs. */
const listByKey = async (database: Database, call: ListCall): Promise<JobPage> => {
  const { query, tables, isId } = database;
  const { filter, limit, after } = call;
  if (after !== null && !isId(after.id)) return { jobs: [], next: null };
  const [direction, comparison] = call.order === "oldest" ? ["ASC", ">"] : ["DESC", "<"];
  const found: StateJob[] = [];
  let position: PagePosition | null = after;
  let lookedAt = 0;

  /** Looks at the next jobs by key, and keeps those of the filter. False when there were no more to look at. */
  const look = async (size: number): Promise<boolean> => {
    const { conditions, params } = filterConditions(tables, isId, filter);
    const bounds: string[] = ["true"];
    const bound = (sql: string, value: string): void => {
      params.push(value);
      bounds.push(`id ${sql} $${params.length}::${tables.idType}`);
    };
    if (position !== null) bound(comparison, position.id);
    if (filter.createdFrom !== undefined) bound(">=", idOfMoment(filter.createdFrom - clockToleranceMs));
    if (filter.createdBefore !== undefined) bound("<", idOfMoment(filter.createdBefore + clockToleranceMs));
    params.push(size, limit + 1 - found.length);
    const [sizeParam, limitParam] = [`$${params.length - 1}::int`, `$${params.length}::int`];
    const rows = await query(call.ctx, {
      sql: `WITH looked AS (
          SELECT * FROM ${tables.job} WHERE ${bounds.join(" AND ")} ORDER BY id ${direction} LIMIT ${sizeParam}
        ), found AS (
          SELECT j.* FROM looked AS j WHERE ${conditions.join(" AND ")} ORDER BY j.id ${direction} LIMIT ${limitParam}
        ), last AS (
          SELECT id, created_at FROM looked ORDER BY id ${direction === "ASC" ? "DESC" : "ASC"} LIMIT 1
        )
        SELECT (SELECT count(*) FROM looked) AS looked_at, (SELECT id FROM last) AS last_id,
          (SELECT created_at FROM last) AS last_created_at, ${jobColumns("j")}
        FROM (SELECT) AS always LEFT JOIN found AS j ON true ORDER BY j.id ${direction}`,
      params,
    });
    const [first] = rows;
    for (const row of rows) if (row["id"] !== null) found.push(toStateJob(row));
    const count = Number(first?.["looked_at"]);
    lookedAt += count;
    if (count < size) return false;
    position = { createdAt: Number(first?.["last_created_at"]), id: text(first?.["last_id"]) };
    return true;
  };

  let hasMore = await look(Math.max(firstLook, limit + 1));
  while (hasMore && found.length <= limit && lookedAt < mostLookedAt) hasMore = await look(mostLookedAt / 5);
  const page = toPage(found, limit);
  return page.next === null && hasMore ? { ...page, next: position } : page;
};

/** The types of sequences that have keys: the index of keys begins with them. It leaps from one to the next. */
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

/** A key belongs to a type, so that a key alone is looked for with all of them. */
const withTypesOfKeys = async (database: Database, call: ListCall): Promise<ListCall> => {
  const { filter } = call;
  if (filter.deduplicationKeys === undefined || filter.sequenceTypeNames !== undefined) return call;
  return { ...call, filter: { ...filter, sequenceTypeNames: await listTypesWithKeys(database, call) } };
};

export const listJobs = async (database: Database, given: ListCall): Promise<JobPage> => {
  const call = isNarrow(given.filter) ? given : await withTypesOfKeys(database, given);
  if (isNarrow(call.filter) || !(await hasTimeOrderedIds(database, call)))
    return listByCreation(database, call);
  return byIndexOnly(
    database,
    call.ctx,
    async (ctx) =>
      (await listFewJobs(database, { ...call, ctx })) ?? (await listByKey(database, { ...call, ctx })),
  );
};
