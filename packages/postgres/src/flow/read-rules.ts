import { type FlowRule, type RulesOver } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { nowSql } from "../sql/clock.ts";
import type { Tables } from "../tables.ts";
import { ruleSelect, toFlowRule } from "./rule-rows.ts";

/** The rules as they are stored now, and the tokens that their buckets have given. */
export interface StoredRules {
  readonly now: number;
  readonly rules: readonly StoredRule[];
  /** Over the jobs of a type. */
  over(queue: string, typeName: string): RulesOver;
}

export interface StoredRule {
  readonly rule: FlowRule;
  readonly hasGroups: boolean;
}

const readSql = ({ flow, flowRule }: Tables): string => `
SELECT ${nowSql("$1")} AS now, ${ruleSelect("r")} FROM ${flow} AS f
LEFT JOIN ${flowRule} AS r ON $2::text IS NULL OR r.queue = $2::text
ORDER BY r.queue, r.type_name NULLS FIRST`;

export const readRules = async (
  { query, tables }: Database,
  call: Call,
  queue: string | null,
): Promise<StoredRules> => {
  const rows = await query(call.ctx, { sql: readSql(tables), params: [call.now ?? null, queue] });
  const rules = rows
    .filter((row) => row["queue"] !== null)
    .map((row) => ({ rule: toFlowRule(row), hasGroups: row["has_groups"] === true }));
  const find = (name: string, typeName: string | null): FlowRule | undefined =>
    rules.find(({ rule }) => rule.queue === name && rule.typeName === typeName)?.rule;
  return {
    now: Number(rows[0]?.["now"]),
    rules,
    over: (name, typeName) => ({ queue: find(name, null), type: find(name, typeName) }),
  };
};
