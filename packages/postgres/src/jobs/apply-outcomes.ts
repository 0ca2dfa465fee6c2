import { asksToDiscard, type AttemptNote, type JobOutcome } from "leasehold/adapter";
import type { Call, CallInTransaction, Database } from "../database/database.ts";
import { hasSqlState, StaleSnapshotError } from "../database/errors.ts";
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
import { deltaColumns, freedCountsSql } from "../limits/deltas.ts";
import { isDiscardableSql, leaseCheckSql } from "./discard.ts";

const scheduleOf = (outcome: JobOutcome): { readonly at?: number; readonly afterMs?: number } =>
  (outcome.kind === "retry" || outcome.kind === "release" ? outcome.schedule : null) ?? {};

const outcomeColumns = (idType: string): RowsColumn<JobOutcome>[] => [
  { name: "id", type: idType, read: "jobId" },
  // An outcome without a token is the only one of its statement, so that a list of tokens never contains null.
  { name: "token", type: "text", required: true, read: "leaseToken" },
  { name: "kind", type: "text", required: true, read: "kind" },
  { name: "locked", type: "boolean", read: ({ locked }) => locked || null },
  { name: "output", type: "text", read: "output" },
  { name: "continued_to_id", type: idType, read: "continuedToId" },
  { name: "completed_by", type: "text", read: "completedBy" },
  { name: "error", type: "text", read: "error" },
  { name: "reason", type: "text", read: "reason" },
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

const rowsToDiscard = defineRows<JobOutcome>((idType) => [
  ...outcomeColumns(idType),
  { name: "discard", type: "boolean", read: (outcome) => asksToDiscard(outcome) || null },
]);

const rowsWithAttempts = defineRows<JobOutcome>((idType) => [...outcomeColumns(idType), ...attemptColumns]);

/** The rows of a batch; `attempts`: with details of attempts, which most batches do not have. */
const outcomeRows = (idType: string, attempts: boolean): RowsParameter<JobOutcome> =>
  attempts ? rowsWithAttempts(idType) : plainRows(idType);

/**
 * What checks that an outcome may be applied. A statement skips outcomes that it may not apply, and outcomes that change other
 * rows. It also skips counted jobs, unless it inserts their deltas. The caller has locked the rows and inserts the deltas. All
 * of them record attempts.
 */
type CheckedBy = "statement" | "statement with deltas" | "caller";

const checkSql = (now: string): string => `
  AND ${leaseCheckSql(now)}
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
  expired_leases = CASE o.kind WHEN 'complete' THEN j.expired_leases WHEN 'release' THEN abs(j.expired_leases) ELSE 0 END,
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

const divisionByZero = "22012";

// Fails unless the outcome of every row is applied, so that the commit after it becomes a rollback.
const applyLastSql = (tables: Tables, shape: Shape): string => `
WITH ${clockCte("$1")},
applied AS (
  ${updateSql(tables, shape, { now, source: outcomeRows(tables.idType, false).source("o", 3, shape.single) })} RETURNING j.id
)
SELECT ${now} AS now, 1 / ((SELECT count(*) FROM applied) = $2::int)::int AS all_applied`;

// The same; deletes the jobs that can be deleted, and completes the others. The transaction holds the locks of all of them.
const discardLastSql = (tables: Tables, shape: Shape): string => {
  const source = rowsToDiscard(tables.idType).source("o", 3, shape.single);
  return `
WITH ${clockCte("$1")},
discarded AS (
  DELETE FROM ${tables.job} AS j USING ${source}
  WHERE j.id = o.id AND o.discard AND ${leaseCheckSql(now)} AND ${isDiscardableSql(tables)} RETURNING j.id
),
applied AS (
  ${updateSql(tables, shape, { now, source })}
  AND (SELECT count(*) FROM discarded) < $2::int AND j.id NOT IN (SELECT id FROM discarded) RETURNING j.id
)
SELECT ${now} AS now,
  1 / ((SELECT count(*) FROM discarded) + (SELECT count(*) FROM applied) = $2::int)::int AS all_applied`;
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

const byId = (a: JobOutcome, b: JobOutcome): number => (a.jobId < b.jobId ? -1 : 1);

export const inOrder = (outcomes: readonly JobOutcome[]): readonly JobOutcome[] => [...outcomes].sort(byId);

export interface Application {
  /** The time of the statement. */
  readonly at: number;
  /** The jobs that it changed; null for all. */
  readonly applied: ReadonlySet<string> | null;
}

/** Applies outcomes of different jobs. */
export const applyOutcomes = async (
  { query, tables: { idType } }: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
  checkedBy: CheckedBy,
): Promise<Application> => {
  const sorted = inOrder(outcomes);
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

/** Completes jobs with the last statement of a transaction, and commits it. Returns the time. */
export const completeLast = async (
  queryLast: NonNullable<Database["queryLast"]>,
  { idType }: Tables,
  { ctx, now: given }: CallInTransaction,
  outcomes: readonly JobOutcome[],
): Promise<number> => {
  const sorted = inOrder(outcomes);
  const single = sorted.length === 1;
  const shape: Shape = { checkedBy: "statement", single, onlyCompletions: true, attempts: false };
  const discards = sorted.some(asksToDiscard);
  const rows = discards ? rowsToDiscard(idType) : outcomeRows(idType, false);
  const [row] = await queryLast(ctx, {
    name: `${discards ? "discard" : "apply"}_last_${single ? "one" : "many"}`,
    sql: (tables) => (discards ? discardLastSql : applyLastSql)(tables, shape),
    params: [given ?? null, sorted.length, ...rows.params(sorted)],
  }).catch((error: unknown) => {
    if (!hasSqlState(error, divisionByZero)) throw error;
    throw new StaleSnapshotError("the transaction has changed a job that it completes");
  });
  return Number(row!["now"]);
};
