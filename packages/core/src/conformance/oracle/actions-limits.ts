import assert from "node:assert/strict";
import type { LimitValues, RateLimit, LimitRuleChange } from "../../store/contract/limits.ts";
import { requirePart } from "../../store/parts.ts";
import { typeNames } from "./actions-start.ts";
import type { Draw } from "./draw.ts";
import { limitedQueue, groups } from "./limit-groups.ts";
import { keyOf, ruleOf, setRule } from "./limit-rules.ts";
import type { Action, World } from "./world.ts";

const rates: readonly (RateLimit | null)[] = [
  null,
  { limit: 2, perMs: 2_000, burst: 1 },
  { limit: 4, perMs: 3_000, burst: 3 },
];

const drawLimits = (draw: Draw): LimitValues => ({
  concurrency: draw.pick([null, 1, 2, 3]),
  rate: draw.pick(rates),
});

const drawChange = (draw: Draw): LimitRuleChange =>
  draw.pick<() => LimitRuleChange>([
    () => ({ concurrency: draw.pick([1, 2, 4, null]) }),
    () => ({ rate: draw.pick(rates) }),
    () => ({ perGroup: draw.pick([drawLimits(draw), null]) }),
    () => ({ perGroup: drawLimits(draw) }),
    () => ({ paused: draw.pick([false, false, true]) }),
    () => ({ ...drawLimits(draw), weights: draw.pick([{}, { "group-1": 3 }]) }),
  ])();

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export const changeRule: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const limits = requirePart(adapter, "limits", "setRule");
  const typeName = draw.pick([null, ...typeNames]);
  const change = drawChange(draw);
  const before = ruleOf(model, limitedQueue, typeName);
  const expectedVersion = draw.pick([undefined, before.version, before.version + 1]);
  world.note("setRule", { typeName, change, expectedVersion });
  const result = await limits.setRule({
    queue: limitedQueue,
    typeName,
    change,
    expectedVersion,
    now,
    ctx,
  });
  if (expectedVersion !== undefined && expectedVersion !== before.version) {
    assert.deepEqual(result, { kind: "version_mismatch", rule: before });
    return;
  }
  const changed = { ...before, ...change };
  const { perGroup } = changed;
  const limitsNothing = perGroup?.concurrency === null && perGroup.rate === null;
  const rule = { ...changed, perGroup: limitsNothing ? null : perGroup };
  if (isSame(rule, before)) {
    assert.deepEqual(result, { kind: "unchanged", rule: before });
    return;
  }
  const next = { ...rule, version: before.version + 1 };
  assert.deepEqual(result, { kind: "set", rule: next });
  setRule(model, next, typeNames, now);
};

export const resumeSome: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const limits = requirePart(adapter, "limits", "resumeGroup");
  const place = { queue: limitedQueue, typeName: draw.pick(typeNames), group: draw.pick(groups) };
  world.note("resumeGroup", place);
  const resumed = await limits.resumeGroup({ ...place, now, ctx });
  assert.equal(resumed, model.stops.delete(keyOf(place)));
};

/** Begins with the rules that the runs before have left, of which only the versions matter. */
export const readRules = async ({ adapter, model, now }: World): Promise<void> => {
  for (const { rule } of (await adapter.limits?.listRules({ queue: limitedQueue, now })) ?? [])
    if (rule.version > 0)
      model.rules.set(keyOf({ queue: limitedQueue, typeName: rule.typeName, group: null }), rule);
};

/** Leaves no rule that says anything, and no group stopped. */
export const resetRules = async ({ adapter, model, now }: World): Promise<void> => {
  const nothing = { paused: false, concurrency: null, rate: null, perGroup: null, weights: {} };
  for (const { typeName } of model.rules.values())
    await adapter.limits?.setRule({ queue: limitedQueue, typeName, change: nothing, now });
  for (const typeName of typeNames)
    for (const group of groups)
      if (model.stops.has(keyOf({ queue: limitedQueue, typeName, group })))
        await adapter.limits?.resumeGroup({ queue: limitedQueue, typeName, group, now });
};
