import type { JobOutcome } from "leasehold/adapter";
import { arrayLiteral, unnestParameters } from "../array-literal.ts";
import { clockCte, now } from "../clock.ts";
import type { Call, Database } from "../database.ts";
import type { Tables } from "../tables.ts";

/**
 * `fenced`: each row is checked by the statement itself, and ends that concern other rows are left alone.
 * `locked`: the caller holds the rows and has checked them.
 */
export type OutcomeCheck = "fenced" | "locked";

// `IS TRUE` keeps the planner from the index of running jobs: rows are met by their ids, one after the other.
const fence = `
  AND (j.status = 'running') IS TRUE AND j.lease_token = o.token AND (j.due_at > ${now} OR o.locked)
  AND (NOT j.watched OR o.kind IN ('retry', 'release') OR o.continued_to_id IS NOT NULL)`;

const runAt = `coalesce(
    o.run_at, CASE WHEN o.run_after IS NOT NULL THEN least(${now} + o.run_after, 8640000000000000) END, j.scheduled_at)`;

// A batch of nothing but completions, by far the most common, needs none of the questions.
const completionSql = `
  status = 'completed',
  ready = false,
  finished_at = ${now},
  key_open = CASE WHEN j.key_open AND o.continued_to_id IS NULL THEN false ELSE j.key_open END,
  output = o.output,
  completed_by = o.completed_by,
  continued_to_id = o.continued_to_id,`;

const anyOutcomeSql = ({ schema }: Tables): string => `
  status = (CASE WHEN o.kind = 'complete' THEN 'completed' WHEN o.kind = 'fail' THEN 'failed'
    WHEN j.open_blockers > 0 THEN 'blocked' ELSE 'pending' END)::${schema}.job_status,
  ready = CASE WHEN o.kind IN ('complete', 'fail') OR j.open_blockers > 0 THEN false ELSE ${runAt} <= ${now} END,
  due_at = CASE WHEN o.kind IN ('retry', 'release') THEN ${runAt} ELSE j.due_at END,
  scheduled_at = CASE WHEN o.kind IN ('retry', 'release') THEN ${runAt} ELSE j.scheduled_at END,
  finished_at = CASE WHEN o.kind IN ('complete', 'fail') THEN ${now} ELSE 0 END,
  key_open = CASE WHEN j.key_open AND o.continued_to_id IS NULL AND o.kind IN ('complete', 'fail') THEN false
    ELSE j.key_open END,
  output = CASE WHEN o.kind = 'complete' THEN o.output ELSE j.output END,
  completed_by = CASE WHEN o.kind = 'complete' THEN o.completed_by ELSE j.completed_by END,
  continued_to_id = o.continued_to_id,
  failure_reason = o.reason,
  last_error = CASE o.kind WHEN 'complete' THEN j.last_error WHEN 'release' THEN coalesce(o.error, j.last_error)
    ELSE o.error END,
  attempt = CASE WHEN o.kind = 'release' AND j.status = 'running' THEN j.attempt - 1 ELSE j.attempt END,
  expired_leases = CASE WHEN o.kind IN ('retry', 'fail') THEN 0 ELSE j.expired_leases END,`;

// Rows go in the order of their ids, for they are locked as they are met. Ids travel back only if some are missing.
const applySql = (tables: Tables, check: OutcomeCheck, onlyCompletions: boolean): string => `
WITH ${clockCte("$1")},
applied AS (
  UPDATE ${tables.job} AS j SET ${onlyCompletions ? completionSql : anyOutcomeSql(tables)}
    lease_token = o.token,
    leased_by = NULL
  FROM ${unnestParameters([
    `$2::${tables.idType}[]`,
    "$3::text[]",
    "$4::text[]",
    "$5::boolean[]",
    "$6::text[]",
    `$7::${tables.idType}[]`,
    "$8::text[]",
    "$9::text[]",
    "$10::text[]",
    "$11::bigint[]",
    "$12::bigint[]",
  ])} AS o (id, token, kind, locked, output, continued_to_id, completed_by, error, reason, run_at, run_after)
  WHERE j.id = o.id ${check === "fenced" ? fence : ""}
  RETURNING j.id
)
SELECT ${now} AS now, CASE WHEN (SELECT count(*) FROM applied) < $13::int
  THEN (SELECT coalesce(array_to_json(array_agg(id))::text, '[]') FROM applied) END AS some`;

type Column = (outcome: JobOutcome) => string | number | boolean | null;

const scheduleOf = (outcome: JobOutcome): { readonly at?: number; readonly afterMs?: number } =>
  (outcome.kind === "retry" || outcome.kind === "release" ? outcome.schedule : null) ?? {};

const columns: readonly Column[] = [
  ({ jobId }) => jobId,
  ({ leaseToken }) => leaseToken,
  ({ kind }) => kind,
  ({ locked }) => (locked === true ? true : null),
  (outcome) => (outcome.kind === "complete" ? outcome.output : null),
  (outcome) => (outcome.kind === "complete" ? outcome.continuedToId : null),
  (outcome) => (outcome.kind === "complete" ? outcome.completedBy : null),
  (outcome) => (outcome.kind === "complete" ? null : outcome.error),
  (outcome) => (outcome.kind === "fail" ? outcome.reason : null),
  (outcome) => scheduleOf(outcome).at ?? null,
  (outcome) => scheduleOf(outcome).afterMs ?? null,
];

const byId = (a: JobOutcome, b: JobOutcome): number => (a.jobId < b.jobId ? -1 : 1);

/** Applies outcomes of different jobs; returns the time of the change, and the jobs to which it happened. */
export const applyOutcomes = async (
  { query }: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
  check: OutcomeCheck,
): Promise<{ readonly at: number; readonly applied: ReadonlySet<string> }> => {
  const sorted = [...outcomes].sort(byId);
  const onlyCompletions = sorted.every(({ kind }) => kind === "complete");
  const [row] = await query(call.ctx, {
    name: `apply_${check}_${onlyCompletions ? "completions" : "any"}`,
    sql: (tables) => applySql(tables, check, onlyCompletions),
    params: [
      call.now ?? null,
      ...columns.map((read) => {
        const values = sorted.map(read);
        return values.every((value) => value === null) ? "{}" : arrayLiteral(values);
      }),
      sorted.length,
    ],
  });
  const some = row?.["some"] as string | null;
  const applied = some === null ? sorted.map(({ jobId }) => jobId) : (JSON.parse(some) as string[]);
  return { at: Number(row?.["now"]), applied: new Set(applied) };
};
