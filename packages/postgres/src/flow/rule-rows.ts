import { type FlowLimits, type FlowRate, type FlowRule, tokenInterval } from "leasehold/adapter";
import type { SqlRow, SqlStatement } from "../provider.ts";
import { queueTypeNumber } from "../queue-types.ts";
import { numberOrNull, text, textOrNull } from "../sql/row-values.ts";

/** The number that the rule and the counters of a queue or a type have: the lane of the type, 0 for the queue as a whole. */
export const homeOf = (queue: string, typeName: string | null): string =>
  typeName === null ? "0" : queueTypeNumber(queue, typeName);

const readRate = (row: SqlRow, prefix: string): FlowRate | null => {
  const limit = numberOrNull(row[`${prefix}rate_limit`]);
  if (limit === null) return null;
  return { limit, perMs: Number(row[`${prefix}rate_per_ms`]), burst: Number(row[`${prefix}rate_burst`]) };
};

const readLimits = (row: SqlRow, prefix: string): FlowLimits => ({
  concurrency: numberOrNull(row[`${prefix}concurrency`]),
  rate: readRate(row, prefix),
});

export const toFlowRule = (row: SqlRow): FlowRule => ({
  queue: text(row["queue"]),
  typeName: textOrNull(row["type_name"]),
  paused: row["paused"] === true,
  ...readLimits(row, ""),
  perGroup: row["group_limits"] === true ? readLimits(row, "group_") : null,
  // As text: drivers do not agree on how to read JSON.
  weights: JSON.parse(text(row["weights"])) as Record<string, number>,
  agePriorityMs: numberOrNull(row["age_priority_ms"]),
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
  ${table}.group_limits, ${table}.weights::text AS weights, ${table}.age_priority_ms, ${table}.has_groups, ${table}.version`;

type Param = SqlStatement["params"][number];

const limitValues = (limits: FlowLimits | null, prefix: string): [string, string, Param][] => {
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
export const ruleValues = (rule: FlowRule): [column: string, type: string, value: Param][] => [
  ["queue", "text", rule.queue],
  ["home", "bigint", homeOf(rule.queue, rule.typeName)],
  ["type_name", "text", rule.typeName],
  ["paused", "boolean", rule.paused],
  ...limitValues(rule, ""),
  ["group_limits", "boolean", rule.perGroup !== null],
  ...limitValues(rule.perGroup, "group_"),
  // Drivers do not agree on how to pass JSON.
  ["weights", "text::jsonb", JSON.stringify(rule.weights)],
  ["age_priority_ms", "bigint", rule.agePriorityMs],
  ["version", "bigint", rule.version],
];

/** Whether the rule makes a difference to any job. */
export const isEffective = (rule: FlowRule): boolean =>
  rule.paused ||
  rule.concurrency !== null ||
  rule.rate !== null ||
  rule.perGroup !== null ||
  rule.agePriorityMs !== null ||
  Object.keys(rule.weights).length > 0;
