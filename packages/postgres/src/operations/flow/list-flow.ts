import { emptyFlowRule, type FlowUse, tokensLeft } from "leasehold/adapter";
import type { Call, Database } from "../../database.ts";
import { readRules, type StoredRules } from "../../flow/read-rules.ts";
import { homeOf } from "../../flow/rule-rows.ts";
import { settleQueue } from "../../flow/settle.ts";
import { findHoldOfType, readUse, type TypeUse } from "../../flow/use-of-types.ts";
import { findQueueTypes, type QueueType } from "../../queue-types.ts";

const mostLines = 10_000;

/** Lines that are open by themselves are held all the same if a rule of their type or queue holds everything back. */
const countLines = (
  types: readonly QueueType[],
  { over, now }: StoredRules,
  use: ReadonlyMap<string, TypeUse>,
): Pick<FlowUse, "openLines" | "heldLines"> => {
  let [openLines, heldLines] = [0, 0];
  for (const { queue, typeName, number } of types) {
    const { open, held } = use.get(number) ?? { open: 0, held: 0 };
    const isHeld = findHoldOfType(over(queue, typeName), use, number, now) !== null;
    openLines += isHeld ? 0 : open;
    heldLines += isHeld ? open + held : held;
  }
  return { openLines: Math.min(openLines, mostLines), heldLines: Math.min(heldLines, mostLines) };
};

const listOne = async (
  database: Database,
  call: Call,
  stored: StoredRules,
  queue: string,
): Promise<FlowUse[]> => {
  const rules = stored.rules.filter(({ rule }) => rule.queue === queue);
  const types = await findQueueTypes(database, call, [{ queue, typeNames: null }]);
  await settleQueue(database, call, types);
  const homes = [
    ...types.map(({ number }) => number),
    ...rules.map(({ rule }) => homeOf(queue, rule.typeName)),
  ];
  const use = await readUse(database, call, queue, homes);
  // Others are types whose number has to be known, and nothing else.
  return rules
    .filter(({ rule, hasGroups }) => rule.version > 0 || hasGroups)
    .map(({ rule }) => {
      const { typeName } = rule;
      const home = homeOf(queue, typeName);
      const { running = 0, tat = 0 } = use.get(home) ?? {};
      return {
        rule: rule.version === 0 ? emptyFlowRule(queue, typeName) : rule,
        running,
        tokens: rule.rate === null ? null : tokensLeft(rule.rate, tat, stored.now),
        ...countLines(typeName === null ? types : types.filter(({ number }) => number === home), stored, use),
      };
    });
};

export const listFlow = async (
  database: Database,
  call: Call & { readonly queue: string | null },
): Promise<FlowUse[]> => {
  const stored = await readRules(database, call, call.queue);
  const uses: FlowUse[] = [];
  for (const queue of new Set(stored.rules.map(({ rule }) => rule.queue)))
    uses.push(...(await listOne(database, call, stored, queue)));
  return uses;
};
