import {
  type AttemptNote,
  type CommitOutcomesCall,
  completesSequence,
  type JobOutcome,
  checkOutcome,
  type OutcomeResult,
} from "leasehold/adapter";
import { type Call, type CallInTransaction, type Database, repeatAlone } from "../database/database.ts";
import {
  clockCte,
  defineRows,
  now,
  nowSql,
  type RowsColumn,
  type RowsParameter,
  textList,
} from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { keepAttemptsSql } from "../history/attempts.ts";
import { freedCountsSql, insertDeltas, deltaColumns } from "../limits/deltas.ts";
import { type LockedJob, lockJobs } from "../rows/locks.ts";
import { type Consequences, settleDependants, type TimedTransaction } from "./dependants.ts";

const scheduleOf = (outcome: JobOutcome): { readonly at?: number; readonly afterMs?: number } =>
  (outcome.kind === "retry" || outcome.kind === "release" ? outcome.schedule : null) ?? {};

const outcomeColumns = (idType: string): RowsColumn<JobOutcome>[] => [
  { name: "id", type: idType, read: ({ jobId }) => jobId },
  // An outcome without a token is the only one of its statement, so that a list of tokens never contains null.
  { name: "token", type: "text", required: true, read: ({ leaseToken }) => leaseToken },
  { name: "kind", type: "text", required: true, read: ({ kind }) => kind },
  { name: "locked", type: "boolean", read: ({ locked }) => locked || null },
  {
    name: "output",
    type: "text",
    read: (outcome) => (outcome.kind === "complete" ? outcome.output : null),
  },
  {
    name: "continued_to_id",
    type: idType,
    read: (outcome) => (outcome.kind === "complete" ? outcome.continuedToId : null),
  },
  {
    name: "completed_by",
    type: "text",
    read: (outcome) => (outcome.kind === "complete" ? outcome.completedBy : null),
  },
  { name: "error", type: "text", read: (outcome) => (outcome.kind === "complete" ? null : outcome.error) },
  { name: "reason", type: "text", read: (outcome) => (outcome.kind === "fail" ? outcome.reason : null) },
  { name: "run_at", type: "bigint", read: (outcome) => scheduleOf(outcome).at ?? null },
  { name: "run_after", type: "bigint", read: (outcome) => scheduleOf(outcome).afterMs ?? null },
];

/** The details of the attempt. An attempt that completes its job has none. */
const attemptNoteOf = ({ kind, note }: JobOutcome): AttemptNote | undefined =>
  kind === "complete" ? undefined : note;

const ofAttempt =
  <TName extends keyof AttemptNote>(name: TName) =>
  (outcome: JobOutcome): AttemptNote[TName] | null =>
    attemptNoteOf(outcome)?.[name] ?? null;

// `lease_version` is null in a row of an outcome without details.
const attemptColumns: RowsColumn<JobOutcome>[] = [
  { name: "lease_version", type: "int", read: ofAttempt("leaseVersion") },
  { name: "attempt", type: "int", required: true, read: (outcome) => attemptNoteOf(outcome)?.attempt ?? 0 },
  {
    name: "worker_id",
    type: "text",
    required: true,
    read: (outcome) => attemptNoteOf(outcome)?.workerId ?? "",
  },
  { name: "deployment", type: "text", read: ofAttempt("deployment") },
  { name: "attempt_due_at", type: "bigint", read: ofAttempt("dueAt") },
  { name: "started_at", type: "bigint", read: ofAttempt("startedAt") },
  { name: "fingerprint", type: "text", read: ofAttempt("fingerprint") },
  { name: "attempt_error", type: "text", read: ofAttempt("error") },
  { name: "log", type: "text", read: ofAttempt("log") },
];

const plainRows = defineRows<JobOutcome>(outcomeColumns);

const rowsWithAttempts = defineRows<JobOutcome>((idType) => [...outcomeColumns(idType), ...attemptColumns]);

/** The rows of a batch; `attempts`: with details of attempts, which most batches do not have. */
const outcomeRows = (idType: string, attempts: boolean): RowsParameter<JobOutcome> =>
  attempts ? rowsWithAttempts(idType) : plainRows(idType);

/**
 * What checks that an outcome may be applied. A statement skips outcomes that it may not apply, and outcomes that change other
 * rows. It also skips counted jobs, unless it inserts their deltas. The caller has locked the rows and inserts the deltas. All
 * of them record attempts.
 */
export type CheckedBy = "statement" | "statement with deltas" | "caller";

// Since `status = 'running'` is the condition of the index of running jobs, the planner may start there and read all of them
// for a few ids. It does not recognise the condition before `IS TRUE`, and goes by the ids.
const checkSql = (now: string): string => `
  AND (j.status = 'running') IS TRUE AND j.lease_token = o.token AND (j.due_at > ${now} OR o.locked)
  AND (NOT j.has_dependants OR o.kind IN ('retry', 'release') OR o.continued_to_id IS NOT NULL)`;

const needsNoDelta = ({ onlyCompletions }: Shape): string =>
  `AND j.counted_in IS NULL ${onlyCompletions ? "" : "AND (j.queue_type IS NULL OR o.kind IN ('complete', 'fail'))"}`;

// For a batch of completions only, which is by far the most common one.
const completionSql = (now: string): string => `
  status = 'completed',
  ready = false,
  finished_at = ${now},
  deduplication_open = CASE WHEN j.deduplication_open AND o.continued_to_id IS NULL THEN false ELSE j.deduplication_open END,
  output = o.output,
  completed_by = o.completed_by,
  continued_to_id = o.continued_to_id,
  lease_token = o.token,
  leased_by = NULL`;

const anyOutcomeSql = ({ schema }: Tables, now: string, { attempts }: Shape): string => {
  const runAt = `CASE WHEN coalesce(o.run_at, o.run_after) IS NULL THEN j.scheduled_at
    ELSE greatest(${now}, coalesce(o.run_at, least(${now} + o.run_after, 8640000000000000))) END`;
  return `
  status = (CASE WHEN o.kind = 'complete' THEN 'completed' WHEN o.kind = 'fail' THEN 'failed'
    WHEN j.open_blockers > 0 THEN 'blocked' ELSE 'pending' END)::${schema}.job_status,
  ready = CASE WHEN o.kind IN ('complete', 'fail') OR j.open_blockers > 0 THEN false ELSE ${runAt} <= ${now} END,
  due_at = CASE WHEN o.kind IN ('retry', 'release') THEN ${runAt} ELSE j.due_at END,
  scheduled_at = CASE WHEN o.kind IN ('retry', 'release') THEN ${runAt} ELSE j.scheduled_at END,
  finished_at = CASE WHEN o.kind IN ('complete', 'fail') THEN ${now} ELSE 0 END,
  deduplication_open = CASE WHEN j.deduplication_open AND o.continued_to_id IS NULL AND o.kind IN ('complete', 'fail') THEN false
    ELSE j.deduplication_open END,
  output = CASE WHEN o.kind = 'complete' THEN o.output ELSE j.output END,
  completed_by = CASE WHEN o.kind = 'complete' THEN o.completed_by ELSE j.completed_by END,
  continued_to_id = o.continued_to_id,
  failure_reason = o.reason,
  last_error = CASE o.kind WHEN 'complete' THEN j.last_error WHEN 'release' THEN coalesce(o.error, j.last_error)
    ELSE o.error END,
  fingerprint = ${attempts ? "CASE WHEN o.kind = 'fail' THEN o.fingerprint END" : "NULL"},
  last_failed_at = CASE WHEN o.kind IN ('retry', 'fail') THEN ${now} ELSE j.last_failed_at END,
  attempt = CASE WHEN o.kind = 'release' AND j.status = 'running' THEN j.attempt - 1 ELSE j.attempt END,
  expired_leases = CASE WHEN o.kind IN ('retry', 'fail') THEN 0 ELSE j.expired_leases END,
  lease_token = o.token,
  leased_by = NULL`;
};

/** The statement depends on these. */
interface Shape {
  readonly checkedBy: CheckedBy;
  readonly single: boolean;
  readonly onlyCompletions: boolean;
  /** Some of the outcomes have details of their attempts. */
  readonly attempts: boolean;
}

const ofAttempts = ["kind", ...attemptColumns.map(({ name }) => name)].map((name) => `o.${name}`).join(", ");

/** WITH queries that record the attempts, after one with the name `applied`. */
const attemptsSql = (tables: Tables): string =>
  keepAttemptsSql(
    tables,
    `SELECT id AS job_id, lease_version, attempt, attempt_due_at AS due_at, started_at, ${now} AS ended_at, kind AS outcome,
      worker_id, deployment, fingerprint, attempt_error AS error, log
    FROM applied WHERE lease_version IS NOT NULL`,
  );

const updateSql = (
  tables: Tables,
  shape: Shape,
  {
    now,
    source,
    isSame = "j.id = o.id",
  }: { readonly now: string; readonly source: string; readonly isSame?: string },
): string => `
  UPDATE ${tables.job} AS j SET ${shape.onlyCompletions ? completionSql(now) : anyOutcomeSql(tables, now, shape)}
    ${shape.checkedBy === "statement" ? "" : ", counted_in = NULL"}
  FROM ${source} WHERE ${isSame} ${shape.checkedBy === "caller" ? "" : checkSql(now)}
  ${shape.checkedBy === "statement" ? needsNoDelta(shape) : ""}`;

// Without the WITH queries of a batch, which cost a single outcome more than its update.
const applyOneSql = (tables: Tables, shape: Shape): string => {
  const source = `${outcomeRows(tables.idType, false).source("o", 2, true)}, (SELECT ${nowSql("$1")} AS now) AS clock`;
  return `${updateSql(tables, shape, { now: "clock.now", source })} RETURNING clock.now, NULL AS some`;
};

// An update returns new values, and a delta needs `counted_in` from before. So each row is read first and updated in its place.
// If it has changed in between, `counted_in` may have changed as well, and the row is left to the statements that lock it.
const applyWithDeltasSql = (tables: Tables, shape: Shape): string => {
  const { job, limitDelta, idType } = tables;
  const source = `(
    SELECT o.*, before.ctid AS place, before.counted_in
    FROM ${outcomeRows(idType, shape.attempts).source("o", 3, shape.single)} JOIN ${job} AS before ON before.id = o.id
    LIMIT (SELECT 2147483647)
  ) AS o`;
  return `
WITH ${clockCte("$1")},
applied AS (
  ${updateSql(tables, shape, { now, source, isSame: "j.ctid = o.place AND j.counted_in IS NOT DISTINCT FROM o.counted_in" })}
  RETURNING j.id, j.queue, j.queue_type, j.claim_key, j.group_key, j.ordered, o.counted_in, ${shape.attempts ? ofAttempts : "o.kind"}
),${shape.attempts ? `${attemptsSql(tables)},` : ""}
reported AS (
  INSERT INTO ${limitDelta} (${deltaColumns}, stopped_by)
  SELECT queue, coalesce(queue_type, claim_key), claim_key, group_key, bool_or(ordered IS NOT NULL),
    CASE WHEN bool_or(kind IN ('retry', 'release')) THEN NULL ELSE 0 END, ${freedCountsSql}, stopped_by
  FROM (
    SELECT *, CASE WHEN kind = 'fail' AND ordered = 'stop' THEN id END AS stopped_by FROM applied
    WHERE counted_in IS NOT NULL OR (queue_type IS NOT NULL AND kind IN ('retry', 'release'))
  ) AS moved GROUP BY queue, queue_type, claim_key, group_key, stopped_by
)
SELECT ${now} AS now, CASE WHEN (SELECT count(*) FROM applied) < $2::int
  THEN (SELECT coalesce(array_to_json(array_agg(id))::text, '[]') FROM applied) END AS some`;
};

// The rows are updated, and so locked, in the order of their ids: two batches cannot deadlock. Ids are returned only if some
// are missing.
const applyManySql = (tables: Tables, shape: Shape): string => {
  const source = outcomeRows(tables.idType, shape.attempts).source("o", 3, shape.single);
  const [returned, written] = shape.attempts ? [`, ${ofAttempts}`, `,${attemptsSql(tables)}`] : ["", ""];
  return `
WITH ${clockCte("$1")},
applied AS (${updateSql(tables, shape, { now, source })} RETURNING j.id${returned})${written}
SELECT ${now} AS now, CASE WHEN (SELECT count(*) FROM applied) < $2::int
  THEN (SELECT coalesce(array_to_json(array_agg(id))::text, '[]') FROM applied) END AS some`;
};

const isInOrder = (outcomes: readonly JobOutcome[]): boolean =>
  outcomes.every(({ jobId }, index) => index === 0 || outcomes[index - 1]!.jobId < jobId);

const byId = (a: JobOutcome, b: JobOutcome): number => (a.jobId < b.jobId ? -1 : 1);

export interface Application {
  /** The time of the statement. */
  readonly at: number;
  /** The jobs that it changed; null for all. */
  readonly applied: ReadonlySet<string> | null;
}

/** Applies outcomes of different jobs. */
const applyOutcomes = async (
  { query, tables: { idType } }: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
  checkedBy: CheckedBy,
): Promise<Application> => {
  const sorted = isInOrder(outcomes) ? outcomes : [...outcomes].sort(byId);
  const single = sorted.length === 1;
  const onlyCompletions = sorted.every(({ kind }) => kind === "complete");
  const attempts = !onlyCompletions && sorted.some((outcome) => attemptNoteOf(outcome) !== undefined);
  const shape = { checkedBy, single, onlyCompletions, attempts };
  const withDeltas = checkedBy === "statement with deltas";
  const unframed = single && !withDeltas && !attempts;
  const kinds = onlyCompletions ? "completions" : `any${attempts ? "_with_attempts" : ""}`;
  const [row] = await query(call.ctx, {
    name: `apply_checked_by_${checkedBy}_${kinds}_${single ? "one" : "many"}`,
    sql: (tables) => {
      if (withDeltas) return applyWithDeltasSql(tables, shape);
      return unframed ? applyOneSql(tables, shape) : applyManySql(tables, shape);
    },
    params: [
      call.now ?? null,
      ...(unframed ? [] : [sorted.length]),
      ...outcomeRows(idType, attempts).params(sorted),
    ],
  });
  if (row === undefined) return { at: Number.NaN, applied: new Set() };
  const some = row["some"];
  return { at: Number(row["now"]), applied: some === null ? null : new Set(textList(some)) };
};

const nothing: Consequences = { unblocked: [], cascaded: [] };

const applied = (at: number, consequences: Consequences): OutcomeResult => ({
  kind: "applied",
  at,
  ...consequences,
});

/** Applies accepted outcomes to locked jobs, and settles their dependants. */
const applyAccepted = async (
  database: Database,
  transaction: TimedTransaction,
  outcomes: readonly JobOutcome[],
  jobs: ReadonlyMap<string, LockedJob>,
): Promise<Map<string, Consequences>> => {
  if (outcomes.length === 0) return new Map();
  await applyOutcomes(database, transaction, outcomes, "caller");
  const deltas = outcomes.flatMap((outcome) => {
    const job = jobs.get(outcome.jobId);
    if (job === undefined) return [];
    return [{ job, stops: outcome.kind === "fail" && job.ordered === "stop" }];
  });
  await insertDeltas(database, transaction.ctx, deltas);
  const jobOf = ({ jobId }: JobOutcome): LockedJob[] => {
    const job = jobs.get(jobId);
    return job === undefined ? [] : [job];
  };
  return settleDependants(database, transaction, {
    completed: outcomes.filter(completesSequence).flatMap(jobOf),
    failed: outcomes
      .filter((outcome) => outcome.kind === "fail")
      .flatMap((outcome) => jobOf(outcome).map((job) => ({ ...job, lastError: outcome.error }))),
  });
};

/** Locks every job, then refuses or applies each outcome. */
const commitLocked = async (
  database: Database,
  call: CallInTransaction,
  outcomes: readonly JobOutcome[],
): Promise<OutcomeResult[]> => {
  const jobIds = outcomes.map(({ jobId }) => jobId);
  const { jobs, at } = await lockJobs(database, call, jobIds);
  const rejections = outcomes.map((outcome) => checkOutcome(jobs.get(outcome.jobId), outcome, at));
  const accepted = outcomes.filter((_outcome, index) => rejections[index] === undefined);
  const consequences = await applyAccepted(database, { ctx: call.ctx, now: at }, accepted, jobs);
  return outcomes.map(({ jobId }, index) => {
    const sequenceId = jobs.get(jobId)?.sequenceId ?? "";
    return rejections[index] ?? applied(at, consequences.get(sequenceId) ?? nothing);
  });
};

/**
 * Splits outcomes into rounds whose members do not affect each other. Two outcomes of one job do. An outcome without a worker
 * may affect any other, and has a round of its own.
 */
const inRounds = (outcomes: readonly JobOutcome[]): JobOutcome[][] => {
  const rounds: JobOutcome[][] = [];
  let round: JobOutcome[] = [];
  let seen = new Set<string>();
  let alone = true;
  for (const outcome of outcomes) {
    if (alone || outcome.leaseToken === null || seen.has(outcome.jobId)) {
      round = [];
      rounds.push(round);
      seen = new Set();
    }
    round.push(outcome);
    seen.add(outcome.jobId);
    alone = outcome.leaseToken === null;
  }
  return rounds;
};

const commitCarefully = (
  database: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
): Promise<OutcomeResult[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const results: OutcomeResult[] = [];
    for (const round of inRounds(outcomes))
      results.push(...(await commitLocked(database, { ...call, ctx }, round)));
    return results;
  });

const areOfDifferentJobs = (outcomes: readonly JobOutcome[]): boolean =>
  outcomes.length === 1 || new Set(outcomes.map(({ jobId }) => jobId)).size === outcomes.length;

/** Commits what one statement can. Jobs that were claimed under a limit need the one that inserts deltas. */
const commitAtOnce = async (
  database: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
): Promise<Application> => {
  const isCounted = ({ leaseToken }: JobOutcome): boolean => database.limits.countedBy(leaseToken!);
  const counted = outcomes.filter(isCounted);
  if (counted.length === 0) return applyOutcomes(database, call, outcomes, "statement");
  if (counted.length === outcomes.length)
    return applyOutcomes(database, call, outcomes, "statement with deltas");
  const others = outcomes.filter((outcome) => !isCounted(outcome));
  const first = await applyOutcomes(database, call, others, "statement");
  const second = await repeatAlone(call.ctx, () =>
    applyOutcomes(database, call, counted, "statement with deltas"),
  );
  const idsOf = ({ applied }: Application, all: readonly JobOutcome[]): Iterable<string> =>
    applied ?? all.map(({ jobId }) => jobId);
  if (first.applied === null && second.applied === null) return second;
  return { at: second.at, applied: new Set([...idsOf(first, others), ...idsOf(second, counted)]) };
};

/**
 * Nearly every outcome is of a job with a valid lease and without dependants. One statement commits all of these and skips the
 * others. The others are then locked, and refused with a reason or applied together with their dependants.
 */
export const commitOutcomes = async (
  database: Database,
  call: Call & CommitOutcomesCall,
): Promise<OutcomeResult[]> => {
  const { outcomes } = call;
  if (outcomes.length === 0) return [];
  const isPlain = outcomes.every(({ leaseToken, jobId }) => leaseToken !== null && database.isId(jobId));
  if (!isPlain || !areOfDifferentJobs(outcomes)) return commitCarefully(database, call, outcomes);

  const { at, applied: done } = await commitAtOnce(database, call, outcomes);
  const plain = applied(at, nothing);
  if (done === null) return outcomes.map(() => plain);
  const rest = outcomes.filter(({ jobId }) => !done.has(jobId));
  const results = await repeatAlone(call.ctx, () => commitCarefully(database, call, rest));
  const resultOf = new Map(rest.map(({ jobId }, index) => [jobId, results[index]]));
  return outcomes.map(({ jobId }) => resultOf.get(jobId) ?? plain);
};
