import {
  type LimitValues,
  type RateLimit,
  type LimitRule,
  type NewJob,
  tokenInterval,
  StoreCallTimeoutError,
  withDeadline,
} from "leasehold/adapter";
import type { Context, Database } from "../database/database.ts";
import { isConflictRollback } from "../database/errors.ts";
import type { SqlRow, SqlStatement } from "../database/provider.ts";
import { arrayLiteral, numberOrNull, text, textOrNull } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { isGroupKey, queueTypeNumber } from "../rows/runnable.ts";

/** The number that the rule and the counters of a queue or a type have: the lane of the type, 0 for the queue as a whole. */
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

export const toFlowRule = (row: SqlRow): LimitRule => ({
  queue: text(row["queue"]),
  typeName: textOrNull(row["type_name"]),
  paused: row["paused"] === true,
  ...readLimits(row, ""),
  perGroup: row["group_limits"] === true ? readLimits(row, "group_") : null,
  // As text: drivers do not agree on how to read JSON.
  weights: JSON.parse(text(row["weights"])) as Record<string, number>,
  version: Number(row["version"]),
});

export const ruleSelect = (
  table: string,
): string => `${table}.queue, ${table}.home, ${table}.type_name, ${table}.paused,
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

/** What is stored for a rule: columns, their types and values. */
export const ruleValues = (rule: LimitRule): [column: string, type: string, value: Param][] => [
  ["queue", "text", rule.queue],
  ["home", "bigint", queueTypeOf(rule.queue, rule.typeName)],
  ["type_name", "text", rule.typeName],
  ["paused", "boolean", rule.paused],
  ...limitValues(rule, ""),
  ["group_limits", "boolean", rule.perGroup !== null],
  ...limitValues(rule.perGroup, "group_"),
  // Drivers do not agree on how to pass JSON.
  ["weights", "text::jsonb", JSON.stringify(rule.weights)],
  ["version", "bigint", rule.version],
];

/** Whether the rule makes a difference to any job. */
const isEffective = (rule: LimitRule): boolean =>
  rule.paused ||
  rule.concurrency !== null ||
  rule.rate !== null ||
  rule.perGroup !== null ||
  Object.keys(rule.weights).length > 0;

interface QueueFlow {
  /** Rules or groups concern jobs of this queue, so that claims have to go by lines. */
  readonly isRuled: boolean;
  readonly rule: LimitRule | undefined;
  readonly types: ReadonlyMap<string, { readonly rule: LimitRule; readonly hasGroups: boolean }>;
}

/**
 * What this process knows of the rules. It is right as long as the epoch is that of the store, which the statements that
 * depend on it compare. A store begins with epoch 0 and without rules, and so does a process: it asks only when that turns
 * out wrong.
 */
export interface LimitsCache {
  readonly epoch: number;
  /** Some type of the store has groups. */
  readonly hasGroups: boolean;
  queue(queue: string): QueueFlow | undefined;
  /** Reads the rules of the store. */
  load(ctx?: Context): Promise<void>;
  /** Whether the claim of jobs with this token counted some of them against limits. */
  countedBy(leaseToken: string): boolean;
  rememberCounted(leaseToken: string): void;
}

const loadSql = ({ flow, flowRule }: Tables): string => `
SELECT f.epoch, ${ruleSelect("r")} FROM ${flow} AS f LEFT JOIN ${flowRule} AS r ON true`;

const readQueues = (rows: readonly SqlRow[]): Map<string, QueueFlow> => {
  const queues = new Map<string, QueueFlow>();
  for (const row of rows) {
    if (row["queue"] === null) continue;
    const rule = toFlowRule(row);
    const hasGroups = row["has_groups"] === true;
    const { isRuled = false, rule: known, types = new Map() } = queues.get(rule.queue) ?? {};
    queues.set(rule.queue, {
      isRuled: isRuled || hasGroups || isEffective(rule),
      rule: rule.typeName === null ? rule : known,
      types: rule.typeName === null ? types : new Map([...types, [rule.typeName, { rule, hasGroups }]]),
    });
  }
  return queues;
};

const mostTokens = 10_000;

export const createLimitsCache = (tables: Tables, query: Database["query"]): LimitsCache => {
  let epoch = 0;
  let queues: ReadonlyMap<string, QueueFlow> = new Map();
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

/** The types that others have to know of before these jobs are there, and may not yet. */
const findNewTypes = ({ flow }: Database, jobs: readonly NewJob[]): NewType[] => {
  const found = new Map<string, NewType>();
  let last: NewJob | undefined;
  for (const job of jobs) {
    const { queue, typeName, group } = job;
    const hasGroups = group !== null;
    // Most calls are about one type.
    if (
      last !== undefined &&
      last.queue === queue &&
      last.typeName === typeName &&
      (last.group !== null) === hasGroups
    )
      continue;
    last = job;
    // A search for types stops before the numbers of lines. A type whose own number happens to be there has to be known.
    if (!hasGroups && !isGroupKey(queueTypeNumber(queue, typeName))) continue;
    const known = flow.queue(queue)?.types.get(typeName);
    if (known !== undefined && (known.hasGroups || !hasGroups)) continue;
    const key = JSON.stringify([queue, typeName]);
    found.set(key, { queue, typeName, hasGroups: hasGroups || (found.get(key)?.hasGroups ?? false) });
  }
  return [...found.values()];
};

const registerSql = ({ flow, flowRule }: Tables): string => `
WITH written AS (
  INSERT INTO ${flowRule} AS r (queue, home, type_name, has_groups)
  SELECT t.queue, t.home, t.type_name, t.has_groups
  FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[]) AS t (queue, home, type_name, has_groups)
  ORDER BY t.queue, t.home
  ON CONFLICT (queue, home) DO UPDATE SET has_groups = true WHERE excluded.has_groups AND NOT r.has_groups
  RETURNING 1
)
UPDATE ${flow} SET epoch = epoch + 1 WHERE EXISTS (SELECT FROM written)`;

// No second connection is free if every connection of the pool is held by a transaction that waits for one.
const longestWaitMs = 2_000;

/**
 * In a transaction of its own: the caller's may take long, and everybody else who starts the first group of a type, or edits
 * a rule, would wait for it.
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

/** Makes known which types have groups, before the first of them is stored. */
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
  await database.flow.load(database.hasSingleConnection ? ctx : undefined);
};

/** What has to be done before these jobs are stored; undefined when there is nothing, as for nearly all. */
export const registrationFor = (
  database: Database,
  ctx: Context | undefined,
  jobs: readonly NewJob[],
): Promise<void> | undefined => {
  const types = findNewTypes(database, jobs);
  return types.length === 0 ? undefined : registerTypes(database, ctx, types);
};
