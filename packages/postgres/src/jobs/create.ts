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
import { clockCte, defineRows, now, type RowsColumn, type RowsParameter, text } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { registrationFor } from "../limits/rules.ts";
import { hasRareValues, insertedColumns, insertedValues } from "../rows/job-table.ts";
import { lockCurrentJobs } from "../rows/locks.ts";
import { groupLineNumber, queueTypeNumber } from "../rows/runnable.ts";
import { findDuplicates, lockDeduplicationKeys } from "./deduplication.ts";
import { getJobs } from "./reads.ts";
import { findReplacedBy, lockDuplicates, mayReplace, replaceDuplicates } from "./replace.ts";

const uniqueViolation = "23505";

interface Insertion extends NewJob {
  /** The end of its sequence changes other rows. */
  readonly endConcernsOthers?: boolean;
}

// A long list without a transaction is stored in portions: while the server stores one, the next is written out.
const portionSize = 1_000;

const laneOf = ({ queue, typeName, group }: NewJob): string =>
  group === null ? queueTypeNumber(queue, typeName) : groupLineNumber(queue, typeName, group);

const newRowColumns = (idType: string, rare: boolean): RowsColumn<Insertion>[] => [
  ...insertedColumns(idType, rare),
  { name: "lane", type: "bigint", required: true, read: laneOf },
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
  { name: "watched", type: "boolean", read: ({ endConcernsOthers }) => endConcernsOthers || null },
];

const plainRows = defineRows<Insertion>((idType) => newRowColumns(idType, false));
// Jobs with a group, that expire or that recur have more to store.
const rareRows = defineRows<Insertion>((idType) => [
  ...newRowColumns(idType, true),
  {
    name: "type_lane",
    type: "bigint",
    required: true,
    read: (job) => queueTypeNumber(job.queue, job.typeName),
  },
]);

const newRows = (idType: string, rare: boolean): RowsParameter<Insertion> =>
  rare ? rareRows(idType) : plainRows(idType);

/** What each column is to hold: what the job brings along, and what follows from it and from the time. */
const newValues = ({ schema }: Tables, rare: boolean): Record<string, string> => ({
  ...insertedValues(rare),
  lane: "lane",
  created_at: "created_at",
  scheduled_at: "moment",
  due_at: "moment",
  ready: "awaits_blockers IS NULL AND moment <= created_at",
  status: `(CASE WHEN awaits_blockers THEN 'blocked' ELSE 'pending' END)::${schema}.job_status`,
  watched: "coalesce(watched, false)",
  key_open: "CASE WHEN deduplication_key IS NOT NULL THEN true END",
  ...(rare && {
    home: "CASE WHEN group_key IS NOT NULL THEN type_lane END",
  }),
});

interface InsertShape {
  readonly single: boolean;
  /** A conflict would abort a transaction of the caller, so there the ids are looked up first. */
  readonly lookFirst: boolean;
  /** With the columns that hardly any job has a value for. */
  readonly rare: boolean;
}

const insertSql = (tables: Tables, { single, lookFirst, rare }: InsertShape): string => {
  const { job, idType, lineNote } = tables;
  const isTaken = single ? `id = $2::${idType}` : `id = ANY ($2::${idType}[])`;
  const values = newValues(tables, rare);
  return `
WITH ${clockCte("$1")},
taken AS MATERIALIZED (SELECT id FROM ${job} WHERE ${lookFirst ? isTaken : "false"}),
inserted AS (
  INSERT INTO ${job} (${Object.keys(values).join(", ")})
  SELECT ${Object.values(values).join(", ")}
  FROM clock CROSS JOIN ${newRows(idType, rare).source("new", 2, single)}
  CROSS JOIN LATERAL (
    SELECT clock.now AS created_at, greatest(
      clock.now, coalesce(run_at, least(clock.now + coalesce(run_after, 0), 8640000000000000))
    ) AS moment
  ) AS schedule
  WHERE NOT EXISTS (SELECT FROM taken)
  ${rare ? "RETURNING queue, home, lane, group_key, ordered, ready" : ""}
)
${
  rare
    ? `, noted AS (
  INSERT INTO ${lineNote} (queue, home, line, group_key, ordered, arrived)
  SELECT queue, home, lane, group_key, bool_or(ordered IS NOT NULL), count(*)
  FROM inserted WHERE ready AND home IS NOT NULL GROUP BY queue, home, lane, group_key
)`
    : ""
}
SELECT ${now} AS now, taken.id AS taken FROM (SELECT) AS always LEFT JOIN taken ON true`;
};

const insertStatement = (
  { tables: { idType } }: Database,
  now: number | undefined,
  jobs: readonly Insertion[],
  lookFirst: boolean,
): Statement => {
  const single = jobs.length === 1;
  const rare = jobs.some(hasRareValues);
  return {
    name: `insert_${single ? "one" : "many"}_${lookFirst ? "checked" : "plain"}${rare ? "_rare" : ""}`,
    sql: (tables) => insertSql(tables, { single, lookFirst, rare }),
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
  if (taken.length > 0) throw new JobAlreadyExistsError(taken);
  return Number(rows[0]?.["now"]);
};

/** The transaction is the adapter's own, so a conflict may abort it. */
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
  // The ids that core makes are in rising order. Then they are certainly distinct.
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
 * For continuations the current job of the sequence is locked: whether anybody waits for the sequence must not change before
 * the transaction commits. A place in the sequence that is taken is reported like an id that is taken.
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
    return { ...job, endConcernsOthers: latest?.endConcernsOthers ?? first?.deduplication != null };
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
  // An id that is taken is an error for duplicates, too. The insert checks the others.
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
 * The error of the database does not say which ids are taken. They are looked up outside the transaction, which the conflict
 * has aborted. If none is found, another transaction has taken a place in a sequence, or has been rolled back since.
 */
const findTaken = async (database: Database, call: Call, jobs: readonly NewJob[]): Promise<string[]> => {
  const ids = jobs.map(({ id }) => id);
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
  const create = (): Promise<CreatedStateJob[]> => {
    if (jobs.some(({ deduplication }) => deduplication !== null)) {
      return database.atomically(call.ctx, (ctx) => createDeduplicated(database, { ...call, ctx }, jobs));
    }
    if (jobs.some(({ sequenceIndex }) => sequenceIndex > 0)) {
      return database.atomically(call.ctx, (ctx) => insertPlaced(database, { ...call, ctx }, jobs));
    }
    return call.ctx === undefined && jobs.length > portionSize
      ? insertInPortions(database, call, jobs)
      : insertPlaced(database, call, jobs);
  };
  try {
    return await create();
  } catch (error) {
    if (!hasSqlState(error, uniqueViolation)) throw error;
    throw new JobAlreadyExistsError(await findTaken(database, call, jobs));
  }
};
