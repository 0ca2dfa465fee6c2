import type { JobOutcome } from "leasehold/adapter";
import { clockCte, now } from "../clock.ts";
import type { Call, Database } from "../database.ts";
import { defineRows } from "../rows-parameter.ts";
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

const scheduleOf = (outcome: JobOutcome): { readonly at?: number; readonly afterMs?: number } =>
  (outcome.kind === "retry" || outcome.kind === "release" ? outcome.schedule : null) ?? {};

const outcomeRows = defineRows<JobOutcome>((idType) => [
  { name: "id", type: idType, read: ({ jobId }) => jobId },
  // Without a token an outcome stands alone, so there is never a null beside others.
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
]);

interface Shape {
  readonly check: OutcomeCheck;
  readonly onlyCompletions: boolean;
  readonly single: boolean;
}

// Rows go in the order of their ids, for they are locked as they are met. Ids travel back only if some are missing.
const applySql = (tables: Tables, { check, onlyCompletions, single }: Shape): string => `
WITH ${clockCte("$1")},
applied AS (
  UPDATE ${tables.job} AS j SET ${onlyCompletions ? completionSql : anyOutcomeSql(tables)}
    lease_token = o.token,
    leased_by = NULL
  FROM ${outcomeRows(tables.idType).source("o", 3, single)}
  WHERE j.id = o.id ${check === "fenced" ? fence : ""}
  RETURNING j.id
)
SELECT ${now} AS now, CASE WHEN (SELECT count(*) FROM applied) < $2::int
  THEN (SELECT coalesce(array_to_json(array_agg(id))::text, '[]') FROM applied) END AS some`;

const byId = (a: JobOutcome, b: JobOutcome): number => (a.jobId < b.jobId ? -1 : 1);

/** Applies outcomes of different jobs; returns the time of the change, and the jobs to which it happened. */
export const applyOutcomes = async (
  { query, tables: { idType } }: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
  check: OutcomeCheck,
): Promise<{ readonly at: number; readonly applied: ReadonlySet<string> }> => {
  const sorted = [...outcomes].sort(byId);
  const onlyCompletions = sorted.every(({ kind }) => kind === "complete");
  const shape = { check, onlyCompletions, single: sorted.length === 1 };
  const [row] = await query(call.ctx, {
    name: `apply_${check}_${onlyCompletions ? "completions" : "any"}_${shape.single ? "one" : "many"}`,
    sql: (tables) => applySql(tables, shape),
    params: [call.now ?? null, sorted.length, ...outcomeRows(idType).params(sorted)],
  });
  const some = row?.["some"] as string | null;
  const applied = some === null ? sorted.map(({ jobId }) => jobId) : (JSON.parse(some) as string[]);
  return { at: Number(row?.["now"]), applied: new Set(applied) };
};
