import type {
  JobCount,
  JobFilter,
  JobPage,
  JobStatus,
  ListJobsCall,
  PagePosition,
  StateJob,
} from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { jobColumns, queryJobs } from "../rows/job-table.ts";
import { type Condition, indexFor, isNarrow, toCondition } from "./filter.ts";

const countRow = defineRow((columns): JobCount => ({
  queue: columns.value("j.queue"),
  typeName: columns.value("j.type_name"),
  status: columns.value("j.status"),
  count: columns.value("count(*)"),
}));

export const prepareCountJobs =
  (tables: Tables): Operation<"countJobs"> =>
  (db, { filter }) => {
    const { sql, values } = toCondition(filter, tables);
    const count = `SELECT ${countRow.columns} FROM ${tables.job} AS j ${indexFor(filter, tables)}
      WHERE ${sql} GROUP BY j.queue, j.type_name, j.status`;
    return countRow.all(db, count, values);
  };

/** One more than asked for shows whether there is a next page. */
const toPage = (jobs: readonly StateJob[], limit: number): JobPage => {
  const page = jobs.slice(0, limit);
  const last = page.at(-1);
  const next = jobs.length > limit && last !== undefined ? { createdAt: last.createdAt, id: last.id } : null;
  return { jobs: page, next };
};

/** How a page is ordered, and where it begins. An index can use the plain bound on the time; the pair settles ties. */
const placePage = (
  { order, after }: Pick<ListJobsCall, "order" | "after">,
  alias = "",
): { readonly from: string; readonly values: readonly SqliteValue[]; readonly orderBy: string } => {
  const [createdAt, id] = [`${alias}created_at`, `${alias}id`];
  const [comparison, direction] = order === "oldest" ? [">", "ASC"] : ["<", "DESC"];
  const orderBy = `ORDER BY ${createdAt} ${direction}, ${id} ${direction}`;
  if (after === null) return { from: "", values: [], orderBy };
  return {
    from: `AND ${createdAt} ${comparison}= ? AND (${createdAt}, ${id}) ${comparison} (?, ?)`,
    values: [after.createdAt, after.createdAt, after.id],
    orderBy,
  };
};

const positionRow = defineRow((columns): PagePosition => ({
  createdAt: columns.value("created_at"),
  id: columns.value("id"),
}));

// How many jobs one call may read: the driver blocks the process meanwhile.
const mostRead = 20_000;

/** Reading and sorting this many jobs takes a few milliseconds. */
const mostSorted = 5_000;

const sizeRow = defineRow((columns) => ({ size: columns.value<number>("count(*)") }));

const nameRow = defineRow((columns) => ({ name: columns.value<string>("name") }));

export const prepareListJobs = (tables: Tables): Operation<"listJobs"> => {
  const { job, createdIndex, keyIndex } = tables;
  /** Completed jobs have no index of their own, and there are too many of them. */
  const indexOf: Readonly<Partial<Record<JobStatus, string>>> = {
    pending: tables.pendingIndex,
    blocked: tables.blockedIndex,
    running: tables.runningIndex,
    failed: tables.failedIndex,
  };

  // The index of keys begins with the types of sequences. This leaps from one to the next.
  const nextType = `SELECT min(sequence_type_name) AS name FROM ${job} INDEXED BY ${keyIndex}
    WHERE deduplication_open IS NOT NULL`;
  const typesWithKeys = `WITH RECURSIVE found AS (
    ${nextType}
    UNION ALL SELECT (${nextType} AND sequence_type_name > found.name) FROM found WHERE found.name IS NOT NULL
  ) SELECT ${nameRow.columns} FROM found WHERE name IS NOT NULL`;

  /** The index begins with the type: for a key without types, adds all types that have keys. */
  const withTypesOfKeys = (db: SqliteConnection, filter: JobFilter): JobFilter =>
    filter.deduplicationKeys === undefined || filter.sequenceTypeNames !== undefined || isNarrow(filter)
      ? filter
      : { ...filter, sequenceTypeNames: nameRow.all(db, typesWithKeys, []).map(({ name }) => name) };

  /**
   * Lists waiting, running or failed jobs by reading all of them, if they are few. Undefined if they are many, or if the
   * filter has other statuses.
   */
  const listFew = (db: SqliteConnection, condition: Condition, call: ListJobsCall): JobPage | undefined => {
    const { filter, limit } = call;
    const statuses = [...new Set(filter.statuses)];
    if (statuses.length === 0 || statuses.some((status) => indexOf[status] === undefined)) return undefined;
    const few = statuses
      .map(
        (status) => `SELECT seq FROM (SELECT seq FROM ${job} INDEXED BY ${indexOf[status]}
          WHERE status = '${status}' LIMIT ${mostSorted + 1})`,
      )
      .join(" UNION ALL ");
    const { size } = sizeRow.first(db, `SELECT ${sizeRow.columns} FROM (${few})`, [])!;
    if (size > mostSorted) return undefined;
    const place = placePage(call, "j.");
    const found = queryJobs(
      db,
      `SELECT ${jobColumns(tables, "j")} FROM (${few}) AS few CROSS JOIN ${job} AS j ON j.seq = few.seq
        WHERE ${condition.sql} ${place.from} ${place.orderBy} LIMIT ?`,
      [...condition.values, ...place.values, limit + 1],
    );
    return toPage(found, limit);
  };

  /** Reads all jobs that meet the condition. */
  const listAll = (
    db: SqliteConnection,
    { sql, values }: Condition,
    { order, limit, after }: Omit<ListJobsCall, "filter">,
    index: string,
  ): JobPage => {
    const place = placePage({ order, after }, "j.");
    const found = queryJobs(
      db,
      `SELECT ${jobColumns(tables, "j")} FROM ${job} AS j ${index} WHERE ${sql} ${place.from} ${place.orderBy} LIMIT ?`,
      [...values, ...place.values, limit + 1],
    );
    return toPage(found, limit);
  };

  /** Reads a limited number of jobs along the index of creation. A page may be short or empty. */
  const listSome = (db: SqliteConnection, condition: Condition, call: ListJobsCall): JobPage => {
    const { filter, limit } = call;
    const place = placePage(call);
    const walk = (columns: string): string =>
      `SELECT ${columns} FROM ${job} INDEXED BY ${createdIndex}
        WHERE created_at >= ? AND created_at < ? ${place.from} ${place.orderBy}`;
    const values = [
      filter.createdFrom ?? 0,
      filter.createdBefore ?? Number.MAX_SAFE_INTEGER,
      ...place.values,
    ];
    const found = queryJobs(
      db,
      `SELECT ${jobColumns(tables, "j")} FROM (${walk("seq")} LIMIT ${mostRead}) AS looked_at
        CROSS JOIN ${job} AS j ON j.seq = looked_at.seq WHERE ${condition.sql} LIMIT ?`,
      [...values, ...condition.values, limit + 1],
    );
    const page = toPage(found, limit);
    if (page.next !== null) return page;
    const last = `${walk(positionRow.columns)} LIMIT 1 OFFSET ${mostRead - 1}`;
    return { ...page, next: positionRow.first(db, last, values) ?? null };
  };

  return (db, given) => {
    const call = { ...given, filter: withTypesOfKeys(db, given.filter) };
    const condition = toCondition(call.filter, tables);
    const index = indexFor(call.filter, tables);
    if (isNarrow(call.filter) || index !== "") return listAll(db, condition, call, index);
    return listFew(db, condition, call) ?? listSome(db, condition, call);
  };
};

export const prepareListBlockedJobs = (tables: Tables): Operation<"listBlockedJobs"> => {
  const { job, blocker } = tables;
  const isBlocked = `j.id IN (SELECT job_id FROM ${blocker} WHERE sequence_id = ?)`;
  return (db, { sequenceId, limit, after }) => {
    const place = placePage({ order: "oldest", after }, "j.");
    const sql = `SELECT ${jobColumns(tables, "j")} FROM ${job} AS j
      WHERE ${isBlocked} ${place.from} ${place.orderBy} LIMIT ?`;
    return toPage(queryJobs(db, sql, [sequenceId, ...place.values, limit + 1]), limit);
  };
};
