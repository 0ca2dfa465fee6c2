import { agePriorityMsOf, FlowNotEnabledError, type FlowRule } from "leasehold/adapter";
import type { Context, Database } from "../database.ts";
import type { SqlRow } from "../provider.ts";
import type { Tables } from "../tables.ts";
import { isEffective, ruleSelect, toFlowRule } from "./rule-rows.ts";

interface QueueFlow {
  /** Rules or groups concern jobs of this queue, so that claims have to go by lines. */
  readonly isRuled: boolean;
  readonly rule: FlowRule | undefined;
  readonly types: ReadonlyMap<string, { readonly rule: FlowRule; readonly hasGroups: boolean }>;
}

/**
 * What this process knows of the rules. It is right as long as the epoch is that of the store, which the statements that
 * depend on it compare. A store begins with epoch 0 and without rules, and so does a process: it asks only when that turns
 * out wrong.
 */
export interface FlowCache {
  readonly epoch: number;
  /** Some type of the store has groups. */
  readonly hasGroups: boolean;
  queue(queue: string): QueueFlow | undefined;
  /** One step of priority in milliseconds, where waiting counts for these jobs. */
  agePriorityMs(queue: string, typeName: string): number | null;
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

export const createFlowCache = (tables: Tables, query: Database["query"]): FlowCache => {
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
    agePriorityMs: (queue, typeName) => {
      const known = queues.get(queue);
      return known === undefined
        ? null
        : agePriorityMsOf({ queue: known.rule, type: known.types.get(typeName)?.rule });
    },
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

/** Whether groups and rules may be used in this store, for a row with the column. */
export const assertEnabled = (row: SqlRow | undefined): void => {
  if (row?.["enabled"] !== true) throw new FlowNotEnabledError();
};
