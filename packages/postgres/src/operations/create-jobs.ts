import type { CreatedStateJob, NewJob } from "leasehold/adapter";
import { InvalidOptionError, JobAlreadyExistsError, JobNotFoundError } from "leasehold/adapter";
import { arrayLiteral } from "../array-literal.ts";
import { clockCte, now } from "../clock.ts";
import type { Call, Context, Database } from "../database.ts";
import { createdStateJob } from "../job-row.ts";
import type { Tables } from "../tables.ts";
import { hasSqlState } from "../transient-errors.ts";
import { findDuplicates, lockDeduplicationKeys } from "./deduplication.ts";
import { laneNumber } from "./lanes.ts";
import { lockCurrentJobs } from "./lock-current-jobs.ts";
import { getJobs } from "./reads.ts";

const uniqueViolation = "23505";

type Value = string | number | boolean | null;

const isUniform = (values: readonly Value[]): boolean => values.every((value) => value === values[0]);

/** A column in which there may be nulls. One of nothing else travels as an empty list. */
const optional = (values: readonly Value[]): string =>
  values[0] === null && isUniform(values) ? "{}" : arrayLiteral(values);

/** A column without nulls. The same value all the way down travels once. */
const required = (values: readonly Value[]): string =>
  arrayLiteral(isUniform(values) ? values.slice(0, 1) : values);

// The lists are unnested together; where one is shorter its rows are null.
const repeated = (column: string, parameter: string): string => `coalesce(new.${column}, (${parameter})[1])`;

/** In a transaction a conflict would spoil everything, so there the ids are looked up first. */
const insertSql = ({ schema, job, idType }: Tables, lookFirst: boolean): string => `
WITH ${clockCte("$1")},
taken AS MATERIALIZED (
  SELECT id FROM ${job} WHERE ${lookFirst ? `id = ANY ($2::${idType}[])` : "false"}
),
inserted AS (
  INSERT INTO ${job} (
    id, sequence_id, root_sequence_id, origin_id, type_name, sequence_type_name, queue, lane, sequence_index, created_at,
    sequence_created_at, scheduled_at, due_at, ready, status, priority, max_attempts, timeout_ms, lease_ms,
    waits_regardless, watched, deduplication_key, key_open, trace_context, input
  )
  SELECT
    id, coalesce(sequence_id, id), coalesce(root_sequence_id, id), origin_id, ${repeated("type_name", "$6::text[]")},
    coalesce(sequence_type_name, ${repeated("type_name", "$6::text[]")}), ${repeated("queue", "$8::text[]")},
    ${repeated("lane", "$23::bigint[]")}, coalesce(sequence_index, 0), clock.now,
    coalesce(sequence_created_at, clock.now), run_at, run_at, awaits_blockers IS NULL AND run_at <= clock.now,
    (CASE WHEN awaits_blockers THEN 'blocked' ELSE 'pending' END)::${schema}.job_status,
    ${repeated("priority", "$13::int[]")}, ${repeated("max_attempts", "$14::int[]")}, timeout_ms, lease_ms,
    coalesce(waits_regardless, false), coalesce(watched, false), deduplication_key,
    CASE WHEN deduplication_key IS NOT NULL THEN true END, trace_context, input
  FROM clock CROSS JOIN unnest(
    $2::${idType}[], $3::${idType}[], $4::${idType}[], $5::${idType}[], $6::text[], $7::text[], $8::text[],
    $9::int[], $10::bigint[], $11::bigint[], $12::bigint[], $13::int[], $14::int[], $15::bigint[], $16::bigint[],
    $17::boolean[], $18::boolean[], $19::boolean[], $20::text[], $21::text[], $22::text[], $23::bigint[]
  ) AS new (
    id, sequence_id, root_sequence_id, origin_id, type_name, sequence_type_name, queue,
    sequence_index, sequence_created_at, scheduled_at, scheduled_after, priority, max_attempts, timeout_ms, lease_ms,
    awaits_blockers, waits_regardless, watched, deduplication_key, trace_context, input, lane
  )
  CROSS JOIN LATERAL (
    SELECT coalesce(scheduled_at, least(clock.now + coalesce(scheduled_after, 0), 8640000000000000)) AS run_at
  ) AS schedule
  WHERE NOT EXISTS (SELECT FROM taken)
)
SELECT ${now} AS now, taken.id AS taken FROM (SELECT) AS always LEFT JOIN taken ON true`;

interface Insertion {
  readonly job: NewJob;
  readonly watched: boolean;
}

interface Column {
  readonly form: (values: readonly Value[]) => string;
  readonly read: (insertion: Insertion) => Value;
}

// In the order of the statement's parameters, from $2 on.
const columns: readonly Column[] = [
  { form: required, read: ({ job }) => job.id },
  { form: optional, read: ({ job }) => (job.sequenceId === job.id ? null : job.sequenceId) },
  { form: optional, read: ({ job }) => (job.rootSequenceId === job.id ? null : job.rootSequenceId) },
  { form: optional, read: ({ job }) => job.originId },
  { form: required, read: ({ job }) => job.typeName },
  {
    form: optional,
    read: ({ job }) => (job.sequenceTypeName === job.typeName ? null : job.sequenceTypeName),
  },
  { form: required, read: ({ job }) => job.queue },
  { form: optional, read: ({ job }) => (job.sequenceIndex === 0 ? null : job.sequenceIndex) },
  { form: optional, read: ({ job }) => job.sequenceCreatedAt },
  { form: optional, read: ({ job: { schedule } }) => ("at" in schedule ? schedule.at : null) },
  {
    form: optional,
    read: ({ job: { schedule } }) => ("afterMs" in schedule ? schedule.afterMs || null : null),
  },
  { form: required, read: ({ job }) => job.priority },
  { form: required, read: ({ job }) => job.maxAttempts },
  { form: optional, read: ({ job }) => job.timeoutMs },
  { form: optional, read: ({ job }) => job.leaseMs },
  { form: optional, read: ({ job }) => (job.awaitsBlockers ? true : null) },
  { form: optional, read: ({ job }) => (job.onBlockerFailure === "wait" ? true : null) },
  { form: optional, read: ({ watched }) => (watched ? true : null) },
  { form: optional, read: ({ job }) => job.deduplication?.key ?? null },
  { form: optional, read: ({ job }) => job.traceContext },
  { form: arrayLiteral, read: ({ job }) => job.input },
  { form: required, read: ({ job }) => laneNumber(job.queue, job.typeName) },
];

const insert = async (
  { query }: Database,
  { ctx, now: given }: Call,
  insertions: readonly Insertion[],
): Promise<number> => {
  const rows = await query(ctx, {
    name: ctx === undefined ? "insert" : "insert_in_transaction",
    sql: (tables) => insertSql(tables, ctx !== undefined),
    params: [given ?? null, ...columns.map(({ form, read }) => form(insertions.map(read)))],
  });
  const taken = rows.flatMap((row) => (row["taken"] === null ? [] : [row["taken"] as string]));
  if (taken.length > 0) throw new JobAlreadyExistsError(taken);
  return Number(rows[0]?.["now"]);
};

const assertStorableIds = ({ isId, tables }: Database, jobs: readonly NewJob[]): void => {
  for (const job of jobs) {
    const unfit = [job.id, job.sequenceId, job.rootSequenceId, job.originId ?? job.id].find(
      (id) => !isId(id),
    );
    if (unfit !== undefined) {
      throw new InvalidOptionError("id", `must be a ${tables.idType} in its canonical form`, unfit);
    }
  }
};

const assertDistinct = (jobs: readonly NewJob[]): void => {
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
 * Continuations need the job they follow, locked: whether anyone waits for the sequence must not change before both are
 * committed. A place that is taken is as good as an id that is.
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
    if (job.sequenceIndex === 0) return { job, watched: false };
    const first = firstOfCall.get(job.sequenceId);
    const latest = current.get(job.sequenceId);
    if (first === undefined && latest === undefined)
      throw new JobNotFoundError(job.sequenceId, "job sequence");
    return { job, watched: latest?.watched ?? first?.deduplication != null };
  });
};

const insertPlaced = async (
  database: Database,
  call: Call,
  jobs: readonly NewJob[],
): Promise<CreatedStateJob[]> => {
  const hasContinuations = jobs.some(({ sequenceIndex }) => sequenceIndex > 0);
  const insertions = hasContinuations
    ? await placeContinuations(database, call.ctx!, jobs)
    : jobs.map((job) => ({ job, watched: false }));
  const at = await insert(database, call, insertions);
  return jobs.map((job) => ({ job: createdStateJob(job, at), deduplicated: false }));
};

const createDeduplicated = async (
  database: Database,
  call: Call & { readonly ctx: Context },
  jobs: readonly NewJob[],
): Promise<CreatedStateJob[]> => {
  await lockDeduplicationKeys(database, call.ctx, jobs);
  const duplicates = await findDuplicates(database, call, jobs);
  // An id that is taken is an error whatever else is true of the job; those to be inserted are checked there.
  const known = await getJobs(database, {
    ctx: call.ctx,
    jobIds: [...duplicates.keys()].map(({ id }) => id),
  });
  const taken = known.flatMap((job) => (job === undefined ? [] : [job.id]));
  if (taken.length > 0) throw new JobAlreadyExistsError(taken);
  const created = await insertPlaced(
    database,
    call,
    jobs.filter((job) => duplicates.get(job) === undefined),
  );
  const createdById = new Map(created.map((result) => [result.job.id, result]));
  return jobs.map((job) => {
    const duplicate = duplicates.get(job);
    if (duplicate === undefined) return createdById.get(job.id)!;
    const earlier = "deduplication" in duplicate ? createdById.get(duplicate.id)!.job : duplicate;
    return { job: earlier, deduplicated: true };
  });
};

/**
 * The database says only that something is taken. Which ids those are can be seen from outside the transaction, which the
 * conflict has spoiled; if none, another transaction has taken a place in a sequence, or has meanwhile let go of its ids.
 */
const findTaken = async (database: Database, call: Call, jobs: readonly NewJob[]): Promise<string[]> => {
  const ids = jobs.map(({ id }) => id);
  const known = await getJobs(database, { now: call.now, jobIds: ids });
  const taken = known.flatMap((job) => (job === undefined ? [] : [job.id]));
  return taken.length > 0 ? taken : ids;
};

export const createJobs = async (
  database: Database,
  call: Call & { readonly jobs: readonly NewJob[] },
): Promise<CreatedStateJob[]> => {
  const { jobs } = call;
  if (jobs.length === 0) return [];
  assertStorableIds(database, jobs);
  assertDistinct(jobs);
  const create = (): Promise<CreatedStateJob[]> => {
    if (jobs.some(({ deduplication }) => deduplication !== null)) {
      return database.atomically(call.ctx, (ctx) => createDeduplicated(database, { ...call, ctx }, jobs));
    }
    if (jobs.some(({ sequenceIndex }) => sequenceIndex > 0)) {
      return database.atomically(call.ctx, (ctx) => insertPlaced(database, { ...call, ctx }, jobs));
    }
    return insertPlaced(database, call, jobs);
  };
  try {
    return await create();
  } catch (error) {
    if (!hasSqlState(error, uniqueViolation)) throw error;
    throw new JobAlreadyExistsError(await findTaken(database, call, jobs));
  }
};
