import {
  bucketSize,
  type LimitValues,
  type RateLimit,
  type LimitRule,
  type NewJob,
  tokenInterval,
} from "leasehold/adapter";
import type { Context, Database, LimitsCache, QueueLimits } from "../database/database.ts";
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
  return {
    limit,
    perMs: Number(row[`${prefix}rate_per_ms`]),
    burst: numberOrNull(row[`${prefix}rate_burst`]),
  };
};

const readLimits = (row: SqlRow, prefix: string): LimitValues => ({
  concurrency: numberOrNull(row[`${prefix}concurrency`]),
  rate: readRate(row, prefix),
});

/** What the functions read of the limits of one group: the bucket and the interval of its rate, as in the columns. */
interface NamedGroup extends LimitValues {
  readonly bucket: number | null;
  readonly interval: number | null;
}

const readNamedGroups = (json: string): LimitRule["groups"] =>
  Object.fromEntries(
    Object.entries(JSON.parse(json) as Record<string, NamedGroup>).map(([group, { concurrency, rate }]) => [
      group,
      {
        concurrency,
        // The order of keys is lost in the database.
        rate: rate && { limit: rate.limit, perMs: rate.perMs, burst: rate.burst },
      },
    ]),
  );

const writeNamedGroups = (groups: LimitRule["groups"]): string => {
  const named = Object.entries(groups).map(([group, { concurrency, rate }]): [string, NamedGroup] => [
    group,
    { concurrency, rate, bucket: rate && bucketSize(rate), interval: rate && tokenInterval(rate) },
  ]);
  return JSON.stringify(Object.fromEntries(named));
};

export const toLimitRule = (row: SqlRow): LimitRule => ({
  queue: text(row["queue"]),
  typeName: textOrNull(row["type_name"]),
  paused: row["paused"] === true,
  pausedUntil: numberOrNull(row["paused_until"]),
  ...readLimits(row, ""),
  perGroup: row["group_limits"] === true ? readLimits(row, "group_") : null,
  // Selected as text, because drivers read JSON differently.
  weights: JSON.parse(text(row["weights"])) as Record<string, number>,
  groups: readNamedGroups(text(row["named_groups"])),
  version: Number(row["version"]),
});

export const ruleSelect = (
  table: string,
): string => `${table}.queue, ${table}.queue_type, ${table}.type_name, ${table}.paused, ${table}.paused_until,
  ${["", "group_"]
    .flatMap((prefix) =>
      ["concurrency", "rate_limit", "rate_per_ms", "rate_burst"].map(
        (column) => `${table}.${prefix}${column}`,
      ),
    )
    .join(", ")},
  ${table}.group_limits, ${table}.weights::text AS weights, ${table}.named_groups::text AS named_groups, ${table}.has_groups, ${table}.version`;

type Param = SqlStatement["params"][number];

const limitValues = (limits: LimitValues | null, prefix: string): [string, string, Param][] => {
  const rate = limits?.rate ?? null;
  return [
    [`${prefix}concurrency`, "bigint", limits?.concurrency ?? null],
    [`${prefix}rate_limit`, "bigint", rate?.limit ?? null],
    [`${prefix}rate_per_ms`, "bigint", rate?.perMs ?? null],
    [`${prefix}rate_burst`, "bigint", rate?.burst ?? null],
    [`${prefix}rate_bucket`, "bigint", rate && bucketSize(rate)],
    [`${prefix}rate_interval`, "bigint", rate && tokenInterval(rate)],
  ];
};

/** The columns of a rule, their types and values. */
export const ruleValues = (rule: LimitRule): [column: string, type: string, value: Param][] => [
  ["queue", "text", rule.queue],
  ["queue_type", "bigint", queueTypeOf(rule.queue, rule.typeName)],
  ["type_name", "text", rule.typeName],
  ["paused", "boolean", rule.paused],
  ["paused_until", "bigint", rule.pausedUntil],
  ...limitValues(rule, ""),
  ["group_limits", "boolean", rule.perGroup !== null],
  ...limitValues(rule.perGroup, "group_"),
  // Passed as text, because drivers write JSON differently.
  ["weights", "text::jsonb", JSON.stringify(rule.weights)],
  ["named_groups", "text::jsonb", writeNamedGroups(rule.groups)],
  ["version", "bigint", rule.version],
];

/** Whether the rule limits any job. */
const isEffective = (rule: LimitRule): boolean =>
  rule.paused ||
  rule.concurrency !== null ||
  rule.rate !== null ||
  rule.perGroup !== null ||
  Object.keys(rule.weights).length > 0 ||
  Object.keys(rule.groups).length > 0;

// Every change of a rule writes the row of the epoch. Rows of the own transaction have age 0 or less; all other visible rows
// are committed.
const loadSql = ({ limitEpoch, limitRule }: Tables): string => `
SELECT e.epoch, age(e.xmin) > 0 AS is_committed, ${ruleSelect("r")}
FROM ${limitEpoch} AS e LEFT JOIN ${limitRule} AS r ON true`;

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

type LimitsCopy = Pick<LimitsCache, "epoch" | "hasGroups" | "queue">;

const readCopy = (rows: readonly SqlRow[]): LimitsCopy => {
  const queues = readQueues(rows);
  return {
    epoch: Number(rows[0]?.["epoch"]),
    hasGroups: rows.some((row) => row["has_groups"] === true),
    queue: (queue) => queues.get(queue),
  };
};

export const createLimitsCache = (tables: Tables, query: Database["query"]): LimitsCache => {
  let copy: LimitsCopy = { epoch: 0, hasGroups: false, queue: () => undefined };
  const tokens = new Set<string>();
  const cache: LimitsCache = {
    get epoch() {
      return copy.epoch;
    },
    get hasGroups() {
      return copy.hasGroups;
    },
    queue: (queue) => copy.queue(queue),
    load: async (ctx) => {
      const rows = await query(ctx, { sql: loadSql(tables), params: [] });
      const loaded = readCopy(rows);
      if (rows[0]?.["is_committed"] !== true) return { ...cache, ...loaded };
      copy = loaded;
      return cache;
    },
    countedBy: (leaseToken) => tokens.has(leaseToken),
    rememberCounted: (leaseToken) => {
      if (tokens.size >= mostTokens) tokens.delete(tokens.values().next().value!);
      tokens.add(leaseToken);
    },
  };
  return cache;
};

interface NewType {
  readonly queue: string;
  readonly typeName: string;
  readonly hasGroups: boolean;
}

/** The types that have to be in the table of rules before these jobs are inserted, and may not be there yet. */
const findNewTypes = (limits: LimitsCache, jobs: readonly NewJob[]): NewType[] => {
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

const registerSql = ({ limitRule }: Tables): string => `
INSERT INTO ${limitRule} AS r (queue, queue_type, type_name, has_groups)
SELECT t.queue, t.queue_type, t.type_name, t.has_groups
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[]) AS t (queue, queue_type, type_name, has_groups)
ORDER BY t.queue, t.queue_type
ON CONFLICT (queue, queue_type) DO UPDATE SET has_groups = true WHERE excluded.has_groups AND NOT r.has_groups`;

/**
 * Registers types before their first job with a group is inserted, in the transaction of the caller: a second connection may
 * not be free before that transaction ends. Until then, other transactions that register a type or change a rule wait. They all
 * lock the epoch first, so that two transactions with several types do not deadlock.
 */
const registerTypes = async (
  { query, atomically, limits, tables }: Database,
  given: Context | undefined,
  types: readonly NewType[],
): Promise<void> => {
  await atomically(given, async (ctx) => {
    await query(ctx, { sql: `UPDATE ${tables.limitEpoch} SET epoch = epoch + 1`, params: [] });
    await query(ctx, {
      sql: registerSql(tables),
      params: [
        arrayLiteral(types.map(({ queue }) => queue)),
        arrayLiteral(types.map(({ queue, typeName }) => queueTypeNumber(queue, typeName))),
        arrayLiteral(types.map(({ typeName }) => typeName)),
        arrayLiteral(types.map(({ hasGroups }) => hasGroups)),
      ],
    });
  });
  if (given === undefined) await limits.load();
};

/** Registers a type before a group of it has a job, so that claims of its queue go by its limits. */
export const registerGroups = async (
  database: Database,
  ctx: Context | undefined,
  queue: string,
  typeName: string,
): Promise<void> => {
  const isKnown = (limits: LimitsCache): boolean => limits.queue(queue)?.types.get(typeName) === true;
  if (isKnown(database.limits) || isKnown(await database.limits.load(ctx))) return;
  await registerTypes(database, ctx, [{ queue, typeName, hasGroups: true }]);
};

/** Registers the types of these jobs. Undefined if this process has read that all are registered, as in nearly every call. */
export const registrationFor = (
  database: Database,
  ctx: Context | undefined,
  jobs: readonly NewJob[],
): Promise<void> | undefined => {
  if (findNewTypes(database.limits, jobs).length === 0) return undefined;
  const register = async (): Promise<void> => {
    const types = findNewTypes(await database.limits.load(ctx), jobs);
    if (types.length > 0) await registerTypes(database, ctx, types);
  };
  return register();
};
