import {
  countedIn,
  type JobReference,
  type OrderedGroup,
  type StateJob,
  type StateSequence,
} from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../database/connection.ts";
import { type Columns, listColumns, type ListedColumn, parseRows, readFrom } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { inputOf } from "./long-inputs.ts";

/** The `priority` of grouped jobs in the index of pending jobs: below all others. */
export const groupedPriority: number = -(2 ** 31);

/** The `group_order` of jobs in an ordered group that have begun: above all others, which wait for them. */
export const begunOrder: number = 2 ** 31;

/** `counted_in` is the sum of this many times the claim key and of the bits of `countedIn`. */
export const keyFactor = 8;

/** In SQL, the claim key of the group that counts a running job; null if none does. */
export const countingKey = (column: string): string =>
  `CASE WHEN ${column} & ${countedIn.group} THEN ${column} / ${keyFactor} END`;

/** What decides the order of a job in its group. */
export interface OrderedJob {
  readonly group: string | null;
  readonly ordered: string | null;
  readonly priority: number;
  readonly scheduledAt: number;
  readonly leaseVersion: number;
}

/** The `group_order` of a pending job; null while it is not due. */
export const groupOrderOf = (job: OrderedJob, now: number): number | null => {
  if (job.group !== null && job.ordered !== null && job.leaseVersion > 0) return begunOrder;
  return job.scheduledAt > now ? null : job.priority;
};

/** The values of claimed jobs that the claim itself has set, so that they need not be read. */
export interface ClaimTerms {
  readonly queue: string;
  readonly workerId: string;
  readonly leaseToken: string;
  readonly deployment: string | null;
  /** Of jobs that do not have their own. */
  readonly leaseMs: number;
  readonly now: number;
}

/**
 * The columns of a job, in one place. All statements and readers derive from this function: a new column needs a migration
 * and an entry here.
 *
 * - Inserts write the columns of `value` and `flag`, and the columns of `rare` if one of them has a value; never the columns of
 *   `later`.
 * - The second argument is the usual value: a constant, or the value of another column. A claim reads null in its place. It
 *   leaves these columns out if all have their usual values, or all but the first few, the columns of groups and limits.
 *   Less text is faster to build and to parse.
 * - With `claim`, the values that the claim has set are not read.
 */
const describeJob = (columns: Columns, claim: ClaimTerms | null): StateJob => {
  // First the columns without a usual value: of most claimed jobs, only these are read.
  const id = columns.value<string>("id");
  const typeName = columns.value<string>("type_name");
  const input = columns.value<string>("input");
  const createdAt = columns.value<number>("created_at");
  const maxAttempts = columns.value<number>("max_attempts");
  const attempt = columns.later<number>("attempt");
  const priority = columns.later<number>("priority", 0);
  // Of a grouped job, whose `priority` is `groupedPriority`.
  const givenPriority = columns.later<number | null>("given_priority", null);
  const group = columns.value<string | null>("group_key", null);
  const ordered = columns.value<OrderedGroup | null>("ordered", null);
  const limited = columns.laterFlag("counted_in", false);
  const leaseMs = columns.value<number | null>("lease_ms", null);
  return {
    id,
    typeName,
    input,
    createdAt,
    maxAttempts,
    attempt,
    leaseMs,
    group,
    ordered,
    limited,
    // Then the columns that often differ from the usual value: that ends the comparison early.
    priority: givenPriority ?? priority,
    scheduledAt: columns.value("scheduled_at", createdAt),
    originId: columns.value("origin_id", null),
    traceContext: columns.value("trace_context", null),
    maxAttemptsGiven: columns.flag("max_attempts_explicit", true),
    timeoutMs: columns.value("timeout_ms", null),
    deduplicationKey: columns.value("deduplication_key", null),
    leaseVersion: columns.later("lease_version", attempt),
    lastError: columns.later("last_error", null),
    lastFailedAt: columns.later("last_failed_at", null),
    expiredLeases: columns.later("expired_leases", 0),
    progress: columns.later("progress", null),
    sequenceId: columns.value("sequence_id", id),
    sequenceTypeName: columns.value("sequence_type_name", typeName),
    sequenceIndex: columns.value("sequence_index", 0),
    sequenceCreatedAt: columns.value("sequence_created_at", createdAt),
    rootSequenceId: columns.value("root_sequence_id", id),
    onBlockerFailure: columns.value("on_blocker_failure", "fail"),
    expireAfterMs: columns.rare("expire_after_ms", null),
    recurrence: columns.rare("recurrence", null),
    replacedBy: columns.later("replaced_by", null),
    blockerCount: columns.later("blocker_count", 0),
    openBlockers: columns.later("open_blockers", 0),
    queue: claim === null ? columns.value("queue") : claim.queue,
    status: claim === null ? columns.value("status") : "running",
    leaseToken: claim === null ? columns.later("lease_token", null) : claim.leaseToken,
    leasedBy: claim === null ? columns.later("leased_by", null) : claim.workerId,
    deployment: claim === null ? columns.later("deployment", null) : claim.deployment,
    leasedUntil:
      claim === null ? columns.later("leased_until", null) : claim.now + (leaseMs ?? claim.leaseMs),
    lastAttemptAt: claim === null ? columns.later("last_attempt_at", null) : claim.now,
    output: claim === null ? columns.later("output", null) : null,
    completedAt: claim === null ? columns.later("completed_at", null) : null,
    completedBy: claim === null ? columns.later("completed_by", null) : null,
    continuedToId: claim === null ? columns.later("continued_to_id", null) : null,
    failedAt: claim === null ? columns.later("failed_at", null) : null,
    failureReason: claim === null ? columns.later("failure_reason", null) : null,
    failedBlockerId: claim === null ? columns.later("failed_blocker_id", null) : null,
  };
};

const { listed: allColumns, described: columnByProperty } = listColumns((columns) =>
  describeJob(columns, null),
);

// From `priority` to `counted_in`.
const limitColumns = 5;

const anyTerms: ClaimTerms = {
  queue: "",
  workerId: "",
  leaseToken: "",
  deployment: null,
  leaseMs: 0,
  now: 0,
};

const { listed: claimedColumns } = listColumns((columns) => describeJob(columns, anyTerms));

/** A column that is written when a job is created. */
export interface InsertedColumn {
  readonly name: string;
  readonly property: keyof StateJob;
  valueOf(job: StateJob): SqliteValue;
}

const toInserted = ([property, column]: [keyof StateJob, ListedColumn]): InsertedColumn => ({
  name: column.sql,
  property,
  valueOf: (job) => {
    const value = job[property];
    if (typeof value !== "boolean") return value;
    return value === column.usually ? null : Number(value);
  },
});

// A listing has each column in the place of its value, which maps properties to columns.
const columnEntries = Object.entries(columnByProperty) as unknown as [keyof StateJob, ListedColumn][];

const columnsInserted = (when: ListedColumn["inserted"]): readonly InsertedColumn[] =>
  columnEntries.filter(([, { inserted }]) => inserted === when).map(toInserted);

export const insertedColumns: readonly InsertedColumn[] = columnsInserted("always");

/** Few jobs have values in these columns, so the insert of all others leaves them out. */
export const rareColumns: readonly InsertedColumn[] = columnsInserted("rarely");

const selected = (tables: Tables, alias: string, { sql }: ListedColumn): string =>
  sql === "input" ? inputOf(tables, alias) : `${alias}.${sql}`;

/** What to select for `parseJob`, `queryJobs` and `findJob`, from a table of jobs under this alias. */
export const jobColumns = (tables: Tables, alias: string): string =>
  `json_array(${allColumns.map((column) => selected(tables, alias, column)).join(", ")})`;

const parseJob = (text: unknown): StateJob =>
  describeJob(readFrom(JSON.parse(text as string) as unknown[]), null);

/** For statements that select `jobColumns` and nothing else. */
export const queryJobs = (db: SqliteConnection, sql: string, values: readonly SqliteValue[]): StateJob[] =>
  db.query(sql, values).map(([text]) => parseJob(text));

export const findJob = (
  db: SqliteConnection,
  sql: string,
  values: readonly SqliteValue[],
): StateJob | undefined => {
  const row = db.first(sql, values);
  return row === undefined ? undefined : parseJob(row[0]);
};

/** What to select for `parseClaimedJobs`, from a table of jobs under this alias. */
export const claimedJobsColumn = (alias: string): string => {
  const toSql = (usually: ListedColumn["usually"]): string => {
    if (typeof usually === "object" && usually !== null) return `${alias}.${usually.sql}`;
    if (typeof usually === "string") return `'${usually}'`;
    // For the usual value of a flag, the column is null.
    return typeof usually === "number" ? String(usually) : "NULL";
  };
  const always: string[] = [];
  const unlessUsual: string[] = [];
  const isUsual: string[] = [];
  for (const { sql, usually } of claimedColumns) {
    const column = `${alias}.${sql}`;
    if (usually === undefined) always.push(column);
    else {
      unlessUsual.push(`nullif(${column}, ${toSql(usually)})`);
      isUsual.push(`${column} IS ${toSql(usually)}`);
    }
  }
  const all = (conditions: readonly string[]): string => conditions.join(" AND ");
  const array = (columns: readonly string[]): string => `json_array(${columns.join(", ")})`;
  return `json_group_array(CASE WHEN ${all(isUsual)} THEN ${array(always)}
    WHEN ${all(isUsual.slice(limitColumns))} THEN ${array([...always, ...unlessUsual.slice(0, limitColumns)])}
    ELSE ${array([...always, ...unlessUsual])} END)`;
};

export const parseClaimedJobs = (text: unknown, terms: ClaimTerms): StateJob[] =>
  parseRows(text).map((row) => describeJob(readFrom(row), terms));

/** A reference to the job under the alias `j`. */
export const describeReference = (columns: Columns): JobReference => ({
  id: columns.value("j.id"),
  typeName: columns.value("j.type_name"),
  queue: columns.value("j.queue"),
  sequenceId: columns.value("j.sequence_id"),
  sequenceTypeName: columns.value("j.sequence_type_name"),
  rootSequenceId: columns.value("j.root_sequence_id"),
});

/** Finds jobs by their id or by their place in a sequence. */
export interface JobLookup {
  find(db: SqliteConnection, jobId: string): StateJob | undefined;
  getJobs(db: SqliteConnection, jobIds: readonly string[]): (StateJob | undefined)[];
  /** The latest job of a sequence. */
  current(db: SqliteConnection, sequenceId: string): StateJob | undefined;
  getSequences(db: SqliteConnection, sequenceIds: readonly string[]): (StateSequence | undefined)[];
}

/** Columns of the last job of a sequence, under the alias `c`; null while it has only its first job. */
export const latestContinuation = (job: string, columns: string, sequenceId: string): string =>
  `(SELECT ${columns} FROM ${job} AS c WHERE c.sequence_id = ${sequenceId} AND c.sequence_index > 0
    ORDER BY c.sequence_index DESC LIMIT 1)`;

export const createJobLookup = (tables: Tables): JobLookup => {
  const { job } = tables;
  const findJobs = `SELECT wanted.key, ${jobColumns(tables, "j")} FROM json_each(?) AS wanted
    CROSS JOIN ${job} AS j ON j.id = wanted.value`;
  const findOne = `SELECT ${jobColumns(tables, "j")} FROM ${job} AS j WHERE j.id = ?`;
  const latest = latestContinuation(job, jobColumns(tables, "c"), "f.id");
  // A sequence has the id of its first job; the id of a continuation names no sequence.
  const currentJob = `SELECT coalesce(${latest}, ${jobColumns(tables, "f")})
    FROM ${job} AS f WHERE f.id = ? AND f.sequence_id = f.id`;
  const findSequences = `SELECT wanted.key, ${jobColumns(tables, "f")}, ${latest}
    FROM json_each(?) AS wanted CROSS JOIN ${job} AS f ON f.id = wanted.value AND f.sequence_id = f.id`;

  return {
    find: (db, jobId) => findJob(db, findOne, [jobId]),
    getJobs: (db, jobIds) => {
      const found = Array.from<StateJob | undefined>({ length: jobIds.length });
      for (const [key, text] of db.query(findJobs, [JSON.stringify(jobIds)]))
        found[Number(key)] = parseJob(text);
      return found;
    },
    current: (db, sequenceId) => findJob(db, currentJob, [sequenceId]),
    getSequences: (db, sequenceIds) => {
      const found = Array.from<StateSequence | undefined>({ length: sequenceIds.length });
      for (const [key, firstText, currentText] of db.query(findSequences, [JSON.stringify(sequenceIds)])) {
        const first = parseJob(firstText);
        found[Number(key)] = { first, current: currentText === null ? first : parseJob(currentText) };
      }
      return found;
    },
  };
};
