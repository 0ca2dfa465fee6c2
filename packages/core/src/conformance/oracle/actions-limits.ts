import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Schedule } from "../../store/contract/job.ts";
import type { LimitRule, LimitValues, RateLimit, LimitRuleChange } from "../../store/contract/limits.ts";
import { requirePart } from "../../store/parts.ts";
import { typeNames } from "./actions-start.ts";
import type { Draw } from "./draw.ts";
import { limitedQueue, groups } from "./limit-groups.ts";
import { keyOf, ruleOf, setRule, withoutOldPause } from "./limit-rules.ts";
import type { Action, World } from "./world.ts";

const rates: readonly (RateLimit | null)[] = [
  null,
  { limit: 2, perMs: 2_000, burst: 1 },
  { limit: 4, perMs: 3_000, burst: 3 },
  { limit: 60, perMs: 1_000, burst: null },
];

const drawLimits = (draw: Draw): LimitValues => ({
  concurrency: draw.pick([null, 1, 2, 3]),
  rate: draw.pick(rates),
});

const weights: readonly LimitRuleChange["weights"][] = [
  null,
  { "group-1": 3 },
  { "group-2": 2 },
  { "group-1": null, "group-2": 1 },
];

const pauses: readonly (Schedule | null)[] = [null, { afterMs: 700 }, { afterMs: 3_000 }];

const drawChange = (draw: Draw, typeName: string | null): LimitRuleChange =>
  draw.pick<() => LimitRuleChange>([
    ...(typeName === null
      ? []
      : [
          () => ({ groups: { "group-1": draw.pick([drawLimits(draw), null]) } }),
          () => ({ groups: { "group-2": { concurrency: draw.pick([null, 1, 4]) }, "group-1": null } }),
          () => ({ groups: { "group-1": { rate: draw.pick(rates) } } }),
          () => ({ groups: null }),
        ]),
    () => ({ concurrency: draw.pick([1, 2, 4, null]) }),
    () => ({ rate: draw.pick(rates) }),
    () => ({ perGroup: draw.pick([drawLimits(draw), null]) }),
    () => ({ perGroup: drawLimits(draw) }),
    () => ({ perGroup: { concurrency: draw.pick([null, 1, 2]) } }),
    () => ({ perGroup: { rate: draw.pick(rates) } }),
    () => ({ paused: draw.pick([false, false, true]) }),
    () => ({ paused: true, pauseUntil: draw.pick(pauses) }),
    () => ({ ...drawLimits(draw), weights: draw.pick(weights) }),
  ])();

const noLimits: LimitValues = { concurrency: null, rate: null };

const endOf = (schedule: Schedule, now: number): number =>
  "at" in schedule ? schedule.at : now + schedule.afterMs;

/** The rule with what a change names, by part and inside the parts. */
const changedRule = (
  before: LimitRule,
  { perGroup, weights: byGroup, groups: named, pauseUntil = null, ...change }: LimitRuleChange,
  now: number,
): LimitRule => {
  const { paused, pausedUntil } = before;
  const end = pauseUntil === null ? Infinity : endOf(pauseUntil, now);
  const pause =
    change.paused === undefined
      ? { paused, pausedUntil }
      : { paused: change.paused, pausedUntil: change.paused && end < Infinity ? end : null };
  const groupLimits = { concurrency: null, rate: null, ...before.perGroup, ...perGroup };
  const isLimited = perGroup !== null && (groupLimits.concurrency !== null || groupLimits.rate !== null);
  const shares: Record<string, number> = byGroup === null ? {} : { ...before.weights };
  for (const [group, weight] of Object.entries(byGroup ?? {})) {
    if (weight === null) delete shares[group];
    else shares[group] = weight;
  }
  const ofGroups: Record<string, LimitValues> = named === null ? {} : { ...before.groups };
  for (const [group, limits] of Object.entries(named ?? {})) {
    const next = { ...(ofGroups[group] ?? noLimits), ...(limits ?? noLimits) };
    if (next.concurrency === null && next.rate === null) delete ofGroups[group];
    else ofGroups[group] = next;
  }
  const parts = { perGroup: isLimited ? groupLimits : null, weights: shares, groups: ofGroups };
  return { ...before, ...change, ...pause, ...parts };
};

const isSame = (a: unknown, b: unknown): boolean => isDeepStrictEqual(a, b);

export const changeRule: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const limits = requirePart(adapter, "limits", "setRule");
  const typeName = draw.pick([null, ...typeNames]);
  const change = drawChange(draw, typeName);
  const before = withoutOldPause(ruleOf(model, limitedQueue, typeName), now);
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
  const rule = changedRule(before, change, now);
  if (isSame(rule, before)) {
    assert.deepEqual(result, { kind: "unchanged", rule: before });
    return;
  }
  const next = { ...rule, version: before.version + 1 };
  assert.deepEqual(result, { kind: "set", rule: next });
  setRule(model, next, typeNames, { now, inTransaction: ctx !== undefined });
};

export const resumeSome: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const limits = requirePart(adapter, "limits", "resumeGroup");
  const place = { queue: limitedQueue, typeName: draw.pick(typeNames), group: draw.pick(groups) };
  world.note("resumeGroup", place);
  const resumed = await limits.resumeGroup({ ...place, now, ctx });
  const wasStopped = model.stops.delete(keyOf(place));
  const wasPaused = (model.pauses.get(keyOf(place)) ?? 0) > now;
  model.pauses.delete(keyOf(place));
  assert.equal(resumed, wasStopped || wasPaused);
};

export const pauseSome: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const limits = requirePart(adapter, "limits", "pauseGroup");
  const place = { queue: limitedQueue, typeName: draw.pick(typeNames), group: draw.pick(groups) };
  const until = draw.pick(pauses);
  world.note("pauseGroup", { ...place, until });
  await limits.pauseGroup({ ...place, until, now, ctx });
  model.pauses.set(keyOf(place), until === null ? Infinity : endOf(until, now));
};

/** Begins with the rules that the runs before have left, of which only the versions matter. */
export const readRules = async ({ adapter, model, now }: World): Promise<void> => {
  for (const { rule } of (await adapter.limits?.listRules({ queue: limitedQueue, now })) ?? [])
    if (rule.version > 0)
      model.rules.set(keyOf({ queue: limitedQueue, typeName: rule.typeName, group: null }), rule);
};

const isHeld = ({ stops, pauses: paused }: World["model"], key: string): boolean =>
  stops.has(key) || paused.has(key);

/** Leaves no rule that says anything, and no group stopped. */
export const resetRules = async ({ adapter, model, now }: World): Promise<void> => {
  const nothing = {
    paused: false,
    concurrency: null,
    rate: null,
    perGroup: null,
    weights: null,
    groups: null,
  };
  for (const { typeName } of model.rules.values())
    await adapter.limits?.setRule({ queue: limitedQueue, typeName, change: nothing, now });
  for (const typeName of typeNames)
    for (const group of groups)
      if (isHeld(model, keyOf({ queue: limitedQueue, typeName, group })))
        await adapter.limits?.resumeGroup({ queue: limitedQueue, typeName, group, now });
};
