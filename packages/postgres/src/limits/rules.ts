import {
  type LimitValues,
  type RateLimit,
  type LimitRule,
  type NewJob,
  tokenInterval,
  StoreCallTimeoutError,
  withDeadline,
} from "leasehold/adapter";
import type { Context, Database, LimitsCache, QueueLimits } from "../database/database.ts";
import { isConflictRollback } from "../database/errors.ts";
import type { SqlRow, SqlStatement } from "../database/provider.ts";
import { arrayLiteral, numberOrNull, text, textOrNull } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { isGroupKey, queueTypeNumber } from "../rows/runnable.ts";

/** The key of a rule and its counters: the number of queue and type, or 0 for the queue as a whole. */
export const queueTypeOf = (queue: string, typeName: string | null): string =>
  typeName === null ? "0" : queueTypeNumber(queue, typeName);

const readRate = (row: SqlRow, prefix: string): RateLimit | null => {
  const limit = numberOrNull(row[`${prefix}rate_limit`]);
  if (limit === null) return null;
  return { limit, perMs: Number(row[`${prefix}rate_per_ms`]), burst: Number(row[`${prefix}rate_burst`]) };
};

const readLimits = (row: SqlRow, prefix: string): LimitValues => ({
  concurrency: numberOrNull(row[`${prefix}concurrency`]),
  rate: readRate(row, prefix),
});

export const toLimitRule = (row: SqlRow): LimitRule => ({
  queue: text(row["queue"]),
  typeName: textOrNull(row["type_name"]),
  paused: row["paused"] === true,
  ...readLimits(row, ""),
  perGroup: row["group_limits"] === true ? readLimits(row, "group_") : null,
  // Selected as text, because drivers read JSON differently.
  weights: JSON.parse(text(row["weights"])) as Record<string, number>,
  version: Number(row["version"]),
});

export const ruleSelect = (
  table: string,
): string => `${table}.queue, ${table}.queue_type, ${table}.type_name, ${table}.paused,
  ${["", "group_"]
    .flatMap((prefix) =>
      ["concurrency", "rate_limit", "rate_per_ms", "rate_burst"].map(
        (column) => `${table}.${prefix}${column}`,
      ),
    )
    .join(", ")},
  ${table}.group_limits, ${table}.weights::text AS weights, ${table}.has_groups, ${table}.version`;

type Param = SqlStatement["params"][number];

const limitValues = (limits: LimitValues | null, prefix: string): [string, string, Param][] => {
  const rate = limits?.rate ?? null;
  return [
    [`${prefix}concurrency`, "bigint", limits?.concurrency ?? null],
    [`${prefix}rate_limit`, "bigint", rate?.limit ?? null],
    [`${prefix}rate_per_ms`, "bigint", rate?.perMs ?? null],
    [`${prefix}rate_burst`, "bigint", rate?.burst ?? null],
    [`${prefix}rate_interval`, "bigint", rate && tokenInterval(rate)],
  ];
};

/** The columns of a rule, their types and values. */
export const ruleValues = (rule: LimitRule): [column: string, type: string, value: Param][] => [
  ["queue", "text", rule.queue],
  ["queue_type", "bigint", queueTypeOf(rule.queue, rule.typeName)],
  ["type_name", "text", rule.typeName],
  ["paused", "boolean", rule.paused],
  ...limitValues(rule, ""),
  ["group_limits", "boolean", rule.perGroup !== null],
  ...limitValues(rule.perGroup, "group_"),
  // Passed as text, because drivers write JSON differently.
  ["weights", "text::jsonb", JSON.stringify(rule.weights)],
  ["version", "bigint", rule.version],
];

/** Whether the rule limits any job. */
const isEffective = (rule: LimitRule): boolean =>
  rule.paused ||
  rule.concurrency !== null ||
  rule.rate !== null ||
  rule.perGroup !== null ||
  Object.keys(rule.weights).length > 0;

const loadSql = ({ limitEpoch, limitRule }: Tables): string => `
SELECT e.epoch, ${ruleSelect("r")} FROM ${limitEpoch} AS e LEFT JOIN ${limitRule} AS r ON true`;

const readQueues = (rows: readonly SqlRow[]): Map<string, QueueLimits> => {
  const queues = new Map<string, QueueLimits>();
  for (const row of rows) {
    if (row["queue"] === null) continue;
    const rule = toLimitRule(row);
    const { queue, typeName } = rule;
    const hasGroups = row["has_groups"] === true;
    const { isLimited = false, types = new Map() } = queues.get(queue) ?? {};
    queues.set(queue, {
      isLimited: isLimited || hasGroups || isEffective(rule),
      types: typeName === null ? types : new Map([...types, [typeName, hasGroups]]),
    });
  }
  return queues;
};

const mostTokens = 10_000;

export const createLimitsCache = (tables: Tables, query: Database["query"]): LimitsCache => {
  let epoch = 0;
  let queues: ReadonlyMap<string, QueueLimits> = new Map();
  let hasGroups = false;
  const tokens = new Set<string>();
  return {
    get epoch() {
      return epoch;
    },
    get hasGroups() {
      return hasGroups;
    },
    queue: (queue) => queues.get(queue),
    load: async (ctx) => {
      const rows = await query(ctx, { sql: loadSql(tables), params: [] });
      queues = readQueues(rows);
      hasGroups = rows.some((row) => row["has_groups"] === true);
      epoch = Number(rows[0]?.["epoch"]);
    },
    countedBy: (leaseToken) => tokens.has(leaseToken),
    rememberCounted: (leaseToken) => {
      if (tokens.size >= mostTokens) tokens.delete(tokens.values().next().value!);
      tokens.add(leaseToken);
    },
  };
};

interface NewType {
  readonly queue: string;
  readonly typeName: string;
  readonly hasGroups: boolean;
}

/** The types that have to be in the table of rules before these jobs are inserted, and may not be there yet. */
const findNewTypes = ({ limits }: Database, jobs: readonly NewJob[]): NewType[] => {
  const found = new Map<string, NewType>();
  let last: NewJob | undefined;
  for (const job of jobs) {
    const { queue, typeName, group } = job;
    const hasGroups = group !== null;
    // Most calls start jobs of one type.
    if (
      last !== undefined &&
      last.queue === queue &&
      last.typeName === typeName &&
      (last.group !== null) === hasGroups
    )
      continue;
    last = job;
    // A search for types stops before the keys of groups. A type whose own number is among these needs a row.
    if (!hasGroups && !isGroupKey(queueTypeNumber(queue, typeName))) continue;
    const knownGroups = limits.queue(queue)?.types.get(typeName);
    if (knownGroups !== undefined && (knownGroups || !hasGroups)) continue;
    const key = JSON.stringify([queue, typeName]);
    found.set(key, { queue, typeName, hasGroups: hasGroups || (found.get(key)?.hasGroups ?? false) });
  }
  return [...found.values()];
};

const registerSql = ({ limitEpoch, limitRule }: Tables): string => `
WITH written AS (
  INSERT INTO ${limitRule} AS r (queue, queue_type, type_name, has_groups)
  SELECT t.queue, t.queue_type, t.type_name, t.has_groups
  FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[]) AS t (queue, queue_type, type_name, has_groups)
  ORDER BY t.queue, t.queue_type
  ON CONFLICT (queue, queue_type) DO UPDATE SET has_groups = true WHERE excluded.has_groups AND NOT r.has_groups
  RETURNING 1
)
UPDATE ${limitEpoch} SET epoch = epoch + 1 WHERE EXISTS (SELECT FROM written)`;

// If each connection of the pool belongs to a transaction that waits for a second one, none becomes free.
const longestWaitMs = 2_000;

/**
 * Registers in a separate transaction. The transaction of the caller may be long, and would block other callers that start the
 * first group of a type or edit a rule.
 */
const registerOutside = async (
  database: Database,
  register: (ctx: Context | undefined) => Promise<readonly SqlRow[]>,
  ctx: Context,
): Promise<readonly SqlRow[]> => {
  if (database.hasSingleConnection) return register(ctx);
  const tooLate = new StoreCallTimeoutError("register types", longestWaitMs);
  return withDeadline(register(undefined), longestWaitMs, () => tooLate).catch((error: unknown) => {
    if (error === tooLate || isConflictRollback(error)) return register(ctx);
    throw error;
  });
};

/** Registers types that have groups, before the first job with a group is inserted. */
const registerTypes = async (
  database: Database,
  ctx: Context | undefined,
  types: readonly NewType[],
): Promise<void> => {
  const params = [
    arrayLiteral(types.map(({ queue }) => queue)),
    arrayLiteral(types.map(({ queue, typeName }) => queueTypeNumber(queue, typeName))),
    arrayLiteral(types.map(({ typeName }) => typeName)),
    arrayLiteral(types.map(({ hasGroups }) => hasGroups)),
  ];
  const register = (own: Context | undefined): Promise<readonly SqlRow[]> =>
    database.query(own, { sql: registerSql(database.tables), params });
  await (ctx === undefined ? register(ctx) : registerOutside(database, register, ctx));
  await database.limits.load(database.hasSingleConnection ? ctx : undefined);
};

/** Registers the types of these jobs. Undefined if all are registered, as in nearly every call. */
export const registrationFor = (
  database: Database,
  ctx: Context | undefined,
  jobs: readonly NewJob[],
): Promise<void> | undefined => {
  const types = findNewTypes(database, jobs);
  return types.length === 0 ? undefined : registerTypes(database, ctx, types);
};
