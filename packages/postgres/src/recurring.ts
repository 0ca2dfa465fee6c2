import {
  type AdvancedRecurringJob,
  clockToleranceMs,
  type DueRecurringJobs,
  type ListRecurringCall,
  type LockDueRecurringCall,
  type NewRecurringJob,
  type StateRecurringJob,
} from "leasehold/adapter";
import type { Call, CallInTransaction, Database } from "./database/database.ts";
import type { SqlRow } from "./database/provider.ts";
import { arrayLiteral, defineRows, nowSql, numberOrNull, text, textOrNull } from "./database/sql.ts";
import type { Tables } from "./database/tables.ts";

/** The select list of a recurring job, as `toStateRecurringJob` reads it. */
const recurringColumns = `id, owner, paused, version, next_nominal_at, runs_at, last_sequence_id, time_zone_version,
  computed_at, created_at, updated_at, tick_history, definition`;

const toStateRecurringJob = (row: SqlRow): StateRecurringJob => ({
  id: text(row["id"]),
  owner: textOrNull(row["owner"]),
  paused: row["paused"] === true,
  version: Number(row["version"]),
  nextNominalAt: numberOrNull(row["next_nominal_at"]),
  runsAt: numberOrNull(row["runs_at"]),
  lastSequenceId: textOrNull(row["last_sequence_id"]),
  timeZoneVersion: text(row["time_zone_version"]),
  computedAt: Number(row["computed_at"]),
  createdAt: Number(row["created_at"]),
  updatedAt: Number(row["updated_at"]),
  tickHistory: text(row["tick_history"]),
  definition: text(row["definition"]),
});

export const getRecurring = async (
  { query }: Database,
  { ctx, ids }: Call & { readonly ids: readonly string[] },
): Promise<(StateRecurringJob | undefined)[]> => {
  const rows = await query(ctx, {
    name: "get_recurring",
    sql: ({ recurring }) => `SELECT ${recurringColumns} FROM ${recurring} WHERE id = ANY ($1::text[])`,
    params: [arrayLiteral(ids)],
  });
  const found = new Map(rows.map(toStateRecurringJob).map((job) => [job.id, job]));
  return ids.map((id) => found.get(id));
};

export const listRecurring = async (
  { query }: Database,
  { ctx, limit, after, owner }: Call & ListRecurringCall,
): Promise<StateRecurringJob[]> => {
  const rows = await query(ctx, {
    name: "list_recurring",
    sql: ({ recurring }) => `SELECT ${recurringColumns} FROM ${recurring}
WHERE id > coalesce($1::text, '') AND ($2::text IS NULL OR owner = $2) ORDER BY id LIMIT $3::int`,
    params: [after, owner ?? null, limit],
  });
  return rows.map(toStateRecurringJob);
};

export const nextRecurringIn = async ({ query }: Database, { ctx, now }: Call): Promise<number | null> => {
  const [row] = await query(ctx, {
    name: "next_recurring_in",
    sql: ({ recurring }) => `SELECT greatest(0, runs_at - ${nowSql("$1")}) AS due_in FROM ${recurring}
WHERE NOT paused AND runs_at IS NOT NULL ORDER BY runs_at LIMIT 1`,
    params: [now ?? null],
  });
  return numberOrNull(row?.["due_in"]);
};

/** Reads the present first. A row that another transaction has locked is skipped and left for the next tick. */
const lockSql = ({ recurring }: Tables, condition: string, limit: string): string => `
WITH clock AS MATERIALIZED (SELECT ${nowSql("$1")} AS now),
due AS MATERIALIZED (
  SELECT ${recurringColumns} FROM ${recurring}
  WHERE NOT paused AND (${condition})
  ORDER BY runs_at, id LIMIT ${limit}::int FOR UPDATE SKIP LOCKED
)
SELECT clock.now, due.* FROM clock LEFT JOIN due ON true ORDER BY due.runs_at, due.id`;

const isDue = "runs_at <= (SELECT now FROM clock)";
const wasSetBack = `computed_at > (SELECT now FROM clock) + ${clockToleranceMs}`;

export const lockDueRecurring = async (
  { query }: Database,
  { ctx, now, limit, timeZoneVersion }: CallInTransaction & LockDueRecurringCall,
): Promise<DueRecurringJobs> => {
  const rows = await query(
    ctx,
    timeZoneVersion === null
      ? {
          name: "lock_due_recurring",
          sql: (tables) => lockSql(tables, isDue, "$2"),
          params: [now ?? null, limit],
        }
      : {
          name: "lock_due_or_outdated_recurring",
          sql: (tables) =>
            lockSql(
              tables,
              `${isDue} OR runs_at IS NOT NULL
    AND (time_zone_version <> '' AND time_zone_version < $3::text COLLATE "C" OR ${wasSetBack})`,
              "$2",
            ),
          params: [now ?? null, limit, timeZoneVersion],
        },
  );
  return {
    now: Number(rows[0]!["now"]),
    jobs: rows.filter((row) => row["id"] !== null).map(toStateRecurringJob),
  };
};

const advancedRows = defineRows<AdvancedRecurringJob>((idType) => [
  { name: "id", type: "text", read: "id" },
  { name: "next_nominal_at", type: "bigint", read: "nextNominalAt" },
  { name: "runs_at", type: "bigint", read: "runsAt" },
  { name: "last_sequence_id", type: idType, read: "lastSequenceId" },
  { name: "time_zone_version", type: "text", read: "timeZoneVersion" },
  { name: "computed_at", type: "bigint", read: "computedAt" },
  { name: "tick_history", type: "text", read: "tickHistory" },
]);

export const advanceRecurring = async (
  { query, tables: { idType } }: Database,
  { ctx, jobs }: CallInTransaction & { readonly jobs: readonly AdvancedRecurringJob[] },
): Promise<void> => {
  if (jobs.length === 0) return;
  const single = jobs.length === 1;
  await query(ctx, {
    name: single ? "advance_one_recurring" : "advance_recurring",
    sql: ({
      recurring,
    }) => `UPDATE ${recurring} AS r SET next_nominal_at = a.next_nominal_at, runs_at = a.runs_at,
  last_sequence_id = a.last_sequence_id, time_zone_version = a.time_zone_version, computed_at = a.computed_at,
  tick_history = a.tick_history
FROM ${advancedRows(idType).source("a", 1, single)} WHERE r.id = a.id`,
    params: advancedRows(idType).params(jobs),
  });
};

/** The locks on ids also cover rows that do not exist. In the order of their keys, so that two calls cannot deadlock. */
export const lockRecurring = async (
  { query }: Database,
  { ctx, ids }: CallInTransaction & { readonly ids: readonly string[] },
): Promise<(StateRecurringJob | undefined)[]> => {
  const params = [arrayLiteral(ids)];
  await query(ctx, {
    name: "lock_recurring_ids",
    sql: ({ recurring }) => `SELECT pg_advisory_xact_lock(key)::text FROM (
  SELECT DISTINCT hashtextextended('${recurring} ' || id, 0) AS key FROM unnest($1::text[]) AS t (id) ORDER BY key
) AS keys`,
    params,
  });
  const rows = await query(ctx, {
    name: "lock_recurring",
    sql: ({ recurring }) =>
      `SELECT ${recurringColumns} FROM ${recurring} WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`,
    params,
  });
  const found = new Map(rows.map(toStateRecurringJob).map((job) => [job.id, job]));
  return ids.map((id) => found.get(id));
};

const newRows = defineRows<NewRecurringJob>((idType) => [
  { name: "id", type: "text", read: "id" },
  { name: "owner", type: "text", read: "owner" },
  { name: "paused", type: "boolean", read: "paused" },
  { name: "version", type: "int", read: "version" },
  { name: "next_nominal_at", type: "bigint", read: "nextNominalAt" },
  { name: "runs_at", type: "bigint", read: "runsAt" },
  { name: "last_sequence_id", type: idType, read: "lastSequenceId" },
  { name: "time_zone_version", type: "text", read: "timeZoneVersion" },
  { name: "computed_at", type: "bigint", read: "computedAt" },
  { name: "tick_history", type: "text", read: "tickHistory" },
  { name: "definition", type: "text", read: "definition" },
]);

export const putRecurring = async (
  { query, tables: { idType } }: Database,
  { ctx, now, jobs }: CallInTransaction & { readonly jobs: readonly NewRecurringJob[] },
): Promise<StateRecurringJob[]> => {
  if (jobs.length === 0) return [];
  const single = jobs.length === 1;
  const { columns, source, params } = newRows(idType);
  const rows = await query(ctx, {
    name: single ? "put_one_recurring" : "put_recurring",
    sql: ({ recurring }) => `
INSERT INTO ${recurring} AS r (${columns.join(", ")}, created_at, updated_at)
SELECT ${columns.map((column) => `n.${column}`).join(", ")}, clock.now, clock.now
FROM (SELECT ${nowSql("$1")} AS now) AS clock, ${source("n", 2, single)}
ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, paused = excluded.paused, version = excluded.version,
  next_nominal_at = excluded.next_nominal_at, runs_at = excluded.runs_at, last_sequence_id = excluded.last_sequence_id,
  time_zone_version = excluded.time_zone_version, computed_at = excluded.computed_at, updated_at = excluded.updated_at,
  tick_history = excluded.tick_history, definition = excluded.definition
RETURNING ${recurringColumns}`,
    params: [now ?? null, ...params(jobs)],
  });
  const stored = new Map(rows.map(toStateRecurringJob).map((job) => [job.id, job]));
  return jobs.map(({ id }) => stored.get(id)!);
};

export const deleteRecurring = async (
  { query }: Database,
  { ctx, ids }: Call & { readonly ids: readonly string[] },
): Promise<string[]> => {
  const rows = await query(ctx, {
    name: "delete_recurring",
    // In the order of the ids, so that two calls cannot deadlock.
    sql: ({ recurring }) => `WITH locked AS MATERIALIZED (
  SELECT id FROM ${recurring} WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE
)
DELETE FROM ${recurring} AS r USING locked WHERE r.id = locked.id RETURNING r.id`,
    params: [arrayLiteral(ids)],
  });
  const deleted = new Set(rows.map((row) => text(row["id"])));
  return ids.filter((id) => deleted.has(id));
};
