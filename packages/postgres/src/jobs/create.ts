import {
  createdStateJob,
  type CreatedStateJob,
  type CreateJobsCall,
  InvalidOptionError,
  JobAlreadyExistsError,
  JobNotFoundError,
  type NewJob,
  type StateJob,
} from "leasehold/adapter";
import type { Call, Context, Database, Statement } from "../database/database.ts";
import { hasSqlState } from "../database/errors.ts";
import {
  arrayLiteral,
  clockCte,
  defineRows,
  now,
  type RowsColumn,
  type RowsParameter,
  text,
} from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { registrationFor } from "../limits/rules.ts";
import { hasRareValues, insertedColumns, insertedValues } from "../rows/job-table.ts";
import { lockCurrentJobs } from "../rows/locks.ts";
import { groupKey, queueTypeNumber } from "../rows/runnable.ts";
import { findDuplicates, lockDeduplicationKeys } from "./deduplication.ts";
import { getJobs } from "./reads.ts";
import { findReplacedBy, lockDuplicates, mayReplace, replaceDuplicates } from "./replace.ts";

const uniqueViolation = "23505";

interface Insertion extends NewJob {
  /** The end of its sequence changes other rows. */
  readonly hasDependants?: boolean;
}

// A long list without a transaction is inserted in portions: while the server inserts one, this process writes the next.
const portionSize = 1_000;

const claimKeyOf = ({ queue, typeName, group }: NewJob): string =>
  group === null ? queueTypeNumber(queue, typeName) : groupKey(queue, typeName, group);

const newRowColumns = (idType: string, rare: boolean): RowsColumn<Insertion>[] => [
  ...insertedColumns(idType, rare),
  { name: "claim_key", type: "bigint", required: true, read: claimKeyOf },
  {
    name: "run_at",
    type: "bigint",
    read: ({ schedule }) => ("at" in schedule ? schedule.at : null),
  },
  {
    name: "run_after",
    type: "bigint",
    read: ({ schedule }) => ("afterMs" in schedule ? schedule.afterMs || null : null),
  },
  { name: "awaits_blockers", type: "boolean", read: (job) => job.awaitsBlockers || null },
  { name: "has_dependants", type: "boolean", read: ({ hasDependants }) => hasDependants || null },
];

const plainRows = defineRows<Insertion>((idType) => newRowColumns(idType, false));
// Jobs with a group, that expire or that recur have more to store.
const rareRows = defineRows<Insertion>((idType) => [
  ...newRowColumns(idType, true),
  {
    name: "type_key",
    type: "bigint",
    required: true,
    read: (job) => queueTypeNumber(job.queue, job.typeName),
  },
]);

const newRows = (idType: string, rare: boolean): RowsParameter<Insertion> =>
  rare ? rareRows(idType) : plainRows(idType);

/** The value of each column: what the job brings along, and what follows from it and from the time. */
const newValues = ({ schema }: Tables, rare: boolean): Record<string, string> => ({
  ...insertedValues(rare),
  claim_key: "claim_key",
  created_at: "created_at",
  scheduled_at: "due_time",
  due_at: "due_time",
  ready: "awaits_blockers IS NULL AND due_time <= created_at",
  status: `(CASE WHEN awaits_blockers THEN 'blocked' ELSE 'pending' END)::${schema}.job_status`,
  has_dependants: "coalesce(has_dependants, false)",
  deduplication_open: "CASE WHEN deduplication_key IS NOT NULL THEN true END",
  ...(rare && { queue_type: "CASE WHEN group_key IS NOT NULL THEN type_key END" }),
});

interface InsertShape {
  readonly single: boolean;
  /** In a transaction of the caller, which a conflict would abort, the statement skips taken ids and returns them. */
  readonly skipsTaken: boolean;
  /** With the columns that are rarely inserted. */
  readonly rare: boolean;
}

// A look-up of the ids before the insert would read the whole table under old statistics. The insert goes by the primary key.
const takenSql = (idType: string, single: boolean): string =>
  single
    ? `
taken AS MATERIALIZED (SELECT $2::${idType} AS id WHERE NOT EXISTS (SELECT FROM inserted)),`
    : `
taken AS MATERIALIZED (
  SELECT id FROM (SELECT id FROM unnest($2::${idType}[]) AS given (id) EXCEPT SELECT id FROM inserted) AS missing
  WHERE (SELECT count(*) FROM inserted) < cardinality($2::${idType}[])
),`;

const reportedSql = (tables: Tables, skipsTaken: boolean): string => `
reported AS (
  INSERT INTO ${tables.limitDelta} (queue, queue_type, claim_key, group_key, ordered, arrived)
  SELECT queue, queue_type, claim_key, group_key, bool_or(ordered IS NOT NULL), count(*)
  FROM inserted WHERE ready AND queue_type IS NOT NULL ${skipsTaken ? "AND NOT EXISTS (SELECT FROM taken)" : ""}
  GROUP BY queue, queue_type, claim_key, group_key
),`;

const insertSql = (tables: Tables, { single, skipsTaken, rare }: InsertShape): string => {
  const { job, idType } = tables;
  const values = newValues(tables, rare);
  const returned = [
    ...(skipsTaken ? ["id"] : []),
    ...(rare ? ["queue", "queue_type", "claim_key", "group_key", "ordered", "ready"] : []),
  ];
  return `
WITH ${clockCte("$1")},
inserted AS (
  INSERT INTO ${job} (${Object.keys(values).join(", ")})
  SELECT ${Object.values(values).join(", ")}
  FROM clock CROSS JOIN ${newRows(idType, rare).source("new", 2, single)}
  CROSS JOIN LATERAL (
    SELECT clock.now AS created_at, greatest(
      clock.now, coalesce(run_at, least(clock.now + coalesce(run_after, 0), 8640000000000000))
    ) AS due_time
  ) AS schedule
  ${skipsTaken ? "ON CONFLICT (id) DO NOTHING" : ""}
  ${returned.length > 0 ? `RETURNING ${returned.join(", ")}` : ""}
),${skipsTaken ? takenSql(idType, single) : ""}${rare ? reportedSql(tables, skipsTaken) : ""}
always AS (SELECT ${now} AS now)
SELECT now${skipsTaken ? ", taken.id AS taken FROM always LEFT JOIN taken ON true" : ", NULL AS taken FROM always"}`;
};

const insertStatement = (
  { tables: { idType } }: Database,
  now: number | undefined,
  jobs: readonly Insertion[],
  skipsTaken: boolean,
): Statement => {
  const single = jobs.length === 1;
  const rare = jobs.some(hasRareValues);
  return {
    name: `insert_${single ? "one" : "many"}_${skipsTaken ? "checked" : "plain"}${rare ? "_rare" : ""}`,
    sql: (tables) => insertSql(tables, { single, skipsTaken, rare }),
    params: [now ?? null, ...newRows(idType, rare).params(jobs)],
  };
};

const insert = async (
  database: Database,
  { ctx, now: given }: Call,
  insertions: readonly Insertion[],
): Promise<number> => {
  const rows = await database.query(ctx, insertStatement(database, given, insertions, ctx !== undefined));
  const taken = rows.filter((row) => row["taken"] !== null).map((row) => text(row["taken"]));
  if (taken.length > 0) {
    await removeInserted(database, ctx, insertions, new Set(taken));
    throw new JobAlreadyExistsError(taken);
  }
  return Number(rows[0]?.["now"]);
};

/** All jobs of a call are stored, or none: the caller may catch the error and commit. */
const removeInserted = async (
  { query, tables: { job, idType } }: Database,
  ctx: Context | undefined,
  insertions: readonly Insertion[],
  taken: ReadonlySet<string>,
): Promise<void> => {
  const ids = insertions.filter(({ id }) => !taken.has(id)).map(({ id }) => id);
  if (ids.length === 0) return;
  await query(ctx, {
    sql: `DELETE FROM ${job} WHERE id = ANY ($1::${idType}[])`,
    params: [arrayLiteral(ids)],
  });
};

/** A transaction of the adapter, which a conflict may abort. */
const insertInPortions = (
  database: Database,
  { now: given }: Call,
  jobs: readonly NewJob[],
): Promise<CreatedStateJob[]> =>
  database.atomically(undefined, async (ctx) => {
    const created: CreatedStateJob[] = [];
    let at = given;
    let statement = insertStatement(database, at, jobs.slice(0, portionSize), false);
    for (let from = 0; from < jobs.length; from += portionSize) {
      const storing = database.query(ctx, statement);
      const next = jobs.slice(from + portionSize, from + 2 * portionSize);
      if (next.length > 0) statement = insertStatement(database, at, next, false);
      const [row] = await storing;
      at ??= Number(row?.["now"]);
      for (const job of jobs.slice(from, from + portionSize)) created.push(asCreated(job, at));
    }
    return created;
  });

const asCreated = (job: NewJob, at: number): CreatedStateJob => ({
  job: createdStateJob(job, at),
  deduplicated: false,
});

const assertStorableIds = ({ isId, tables }: Database, jobs: readonly NewJob[]): void => {
  const check = (id: string): void => {
    if (!isId(id)) throw new InvalidOptionError("id", `must be a ${tables.idType} in its canonical form`, id);
  };
  for (const { id, sequenceId, rootSequenceId, originId } of jobs) {
    check(id);
    if (sequenceId !== id) check(sequenceId);
    if (rootSequenceId !== id) check(rootSequenceId);
    if (originId !== null) check(originId);
  }
};

const assertDistinct = (jobs: readonly NewJob[]): void => {
  // Ids that core makes are ascending, and then distinct.
  const firstJobsRise = jobs.every(
    ({ id, sequenceIndex }, index) => sequenceIndex === 0 && (index === 0 || jobs[index - 1]!.id < id),
  );
  if (firstJobsRise) return;
  const given = new Set<string>();
  const positions = new Set<string>();
  const repeated = jobs.filter(({ id, sequenceId, sequenceIndex }) => {
    const position = `${sequenceIndex} ${sequenceId}`;
    const known = given.has(id) || (sequenceIndex > 0 && positions.has(position));
    given.add(id);
    positions.add(position);
    return known;
  });
  if (repeated.length > 0) throw new JobAlreadyExistsError(repeated.map(({ id }) => id));
};

/**
 * Locks the current jobs of the sequences that are continued: whether a sequence has dependants must not change before the
 * commit. A taken place in a sequence is reported like a taken id.
 */
const placeContinuations = async (
  database: Database,
  ctx: Context,
  jobs: readonly NewJob[],
): Promise<Insertion[]> => {
  const firstOfCall = new Map(jobs.filter((job) => job.sequenceIndex === 0).map((job) => [job.id, job]));
  const sequenceIds = jobs
    .filter(({ sequenceIndex, sequenceId }) => sequenceIndex > 0 && !firstOfCall.has(sequenceId))
    .map(({ sequenceId }) => sequenceId);
  const current = await lockCurrentJobs(database, ctx, sequenceIds);
  const taken = jobs.filter(
    (job) => job.sequenceIndex > 0 && (current.get(job.sequenceId)?.sequenceIndex ?? -1) >= job.sequenceIndex,
  );
  if (taken.length > 0) throw new JobAlreadyExistsError(taken.map(({ id }) => id));
  return jobs.map((job) => {
    if (job.sequenceIndex === 0) return job;
    const first = firstOfCall.get(job.sequenceId);
    const latest = current.get(job.sequenceId);
    if (first === undefined && latest === undefined)
      throw new JobNotFoundError(job.sequenceId, "job sequence");
    return { ...job, hasDependants: latest?.hasDependants ?? first?.deduplication != null };
  });
};

const insertPlaced = async (
  database: Database,
  call: Call,
  jobs: readonly NewJob[],
): Promise<CreatedStateJob[]> => {
  if (jobs.length === 0) return [];
  const hasContinuations = jobs.some(({ sequenceIndex }) => sequenceIndex > 0);
  const insertions = hasContinuations ? await placeContinuations(database, call.ctx!, jobs) : jobs;
  const at = await insert(database, call, insertions);
  return jobs.map((job) => asCreated(job, at));
};

const none: ReadonlyMap<string, StateJob> = new Map();

const createDeduplicated = async (
  database: Database,
  call: Call & { readonly ctx: Context },
  jobs: readonly NewJob[],
): Promise<CreatedStateJob[]> => {
  await lockDeduplicationKeys(database, call.ctx, jobs);
  const replaces = jobs.some(mayReplace);
  const repeated = replaces ? await findReplacedBy(database, call.ctx, jobs) : none;
  const fresh = replaces ? jobs.filter(({ id }) => !repeated.has(id)) : jobs;
  const { duplicates, at } = replaces
    ? await lockDuplicates(database, call, fresh)
    : { duplicates: await findDuplicates(database, call, jobs), at: Number.NaN };
  // A taken id is an error for a duplicate as well. The insert checks the other jobs.
  const known = await getJobs(database, {
    ctx: call.ctx,
    jobIds: [...duplicates.keys()].map(({ id }) => id),
  });
  const taken = known.flatMap((job) => (job === undefined ? [] : [job.id]));
  if (taken.length > 0) throw new JobAlreadyExistsError(taken);
  const created = await insertPlaced(
    database,
    call,
    fresh.filter((job) => duplicates.get(job) === undefined),
  );
  const createdById = new Map(created.map((result) => [result.job.id, result]));
  const answers = fresh.map((job): CreatedStateJob => {
    const duplicate = duplicates.get(job);
    if (duplicate === undefined) return createdById.get(job.id)!;
    const earlier = "deduplication" in duplicate ? createdById.get(duplicate.id)!.job : duplicate;
    return { job: earlier, deduplicated: true };
  });
  if (!replaces) return answers;
  const now = call.now ?? Math.max(at, created[0]?.job.createdAt ?? 0);
  const replaced = await replaceDuplicates(database, { ctx: call.ctx, now }, fresh, answers);
  const answerById = new Map(fresh.map(({ id }, index) => [id, replaced[index]!]));
  return jobs.map(
    ({ id }) => answerById.get(id) ?? { job: repeated.get(id)!, deduplicated: true, replaced: true },
  );
};

/**
 * Finds the taken ids, which the error of the database does not contain. If none is found, another transaction took a place in
 * a sequence, or was rolled back. The transaction of a caller is aborted, and another connection may not be free: then all ids
 * are reported.
 */
const findTaken = async (database: Database, call: Call, jobs: readonly NewJob[]): Promise<string[]> => {
  const ids = jobs.map(({ id }) => id);
  if (call.ctx !== undefined) return ids;
  const known = await getJobs(database, { now: call.now, jobIds: ids });
  const taken = known.flatMap((job) => (job === undefined ? [] : [job.id]));
  return taken.length > 0 ? taken : ids;
};

export const createJobs = async (
  database: Database,
  call: Call & CreateJobsCall,
): Promise<CreatedStateJob[]> => {
  const { jobs } = call;
  if (jobs.length === 0) return [];
  assertStorableIds(database, jobs);
  assertDistinct(jobs);
  const registration = registrationFor(database, call.ctx, jobs);
  if (registration !== undefined) await registration;
  try {
    if (jobs.some(({ deduplication }) => deduplication !== null))
      return await database.atomically(call.ctx, (ctx) =>
        createDeduplicated(database, { ...call, ctx }, jobs),
      );
    if (jobs.some(({ sequenceIndex }) => sequenceIndex > 0))
      return await database.atomically(call.ctx, (ctx) => insertPlaced(database, { ...call, ctx }, jobs));
    if (call.ctx === undefined && jobs.length > portionSize)
      return await insertInPortions(database, call, jobs);
    const at = await insert(database, call, jobs);
    return jobs.map((job) => asCreated(job, at));
  } catch (error) {
    if (!hasSqlState(error, uniqueViolation)) throw error;
    throw new JobAlreadyExistsError(await findTaken(database, call, jobs));
  }
};
