import { InvalidOptionError } from "../base/errors.ts";
import {
  largestInt32,
  type OptionNames,
  requireBoolean,
  requireInteger,
  requireName,
  requireOneOf,
} from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { announceAfter, operation } from "../engine/operation.ts";
import { defaultQueue } from "../job-types/settings.ts";
import type { LimitRuleChange, LimitScope, LimitUse } from "../store/contract/limits.ts";
import { VersionMismatchError } from "../store/errors.ts";
import { requirePart } from "../store/parts.ts";
import { emptyLimitRule } from "../store/rules/limits.ts";
import type { LimitState, GroupState } from "./api.ts";
import { type LimitRuleOptions, parseLimitRule } from "./rule.ts";

type Options = Record<string, unknown>;

const scopeOptions: OptionNames = { queue: true, typeName: true };

const ruleOptions: OptionNames<keyof LimitRuleOptions> = {
  paused: true,
  concurrency: true,
  rate: true,
  perGroup: true,
  weights: true,
};

/** A type has to be named if `typeName` is required; otherwise a queue is enough. */
const parseScope = (engine: Engine, { queue, typeName }: Options): LimitScope => {
  if (typeName === undefined) {
    if (queue === undefined) throw new InvalidOptionError("queue", "or `typeName` is required");
    return { queue: requireName(queue, "queue"), typeName: null };
  }
  const name = requireName(typeName, "typeName");
  const type = engine.jobTypes.get(name);
  return {
    queue: queue === undefined ? (type.queue ?? defaultQueue) : requireName(queue, "queue"),
    typeName: name,
  };
};

const parseTypeScope = (engine: Engine, options: Options): LimitScope & { readonly typeName: string } => {
  const typeName = requireName(options["typeName"], "typeName");
  return { ...parseScope(engine, options), typeName };
};

const viewLimits = ({ rule, ...use }: LimitUse): LimitState => ({ ...rule, ...use });

const findLimits = async (
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  scope: LimitScope,
): Promise<LimitState> => {
  const uses = await requirePart(engine.store, "limits", operation).listRules({ ctx, queue: scope.queue });
  const found = uses.find(({ rule }) => rule.typeName === scope.typeName);
  // There is nothing to list where there is no rule, nor a job with a group.
  if (found !== undefined) return viewLimits(found);
  const rule = emptyLimitRule(scope.queue, scope.typeName);
  return { ...rule, running: 0, tokens: null, claimableGroups: 0, throttledGroups: 0 };
};

const describeScope = ({ queue, typeName }: LimitScope): string =>
  typeName === null ? `rule of queue "${queue}"` : `rule of job type "${typeName}" in queue "${queue}"`;

/** Whether throttled jobs may run after this change. */
const mayOpen = (change: LimitRuleChange): boolean =>
  change.paused !== true || Object.keys(change).length > 1;

const changeRule = (
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  scope: LimitScope,
  change: LimitRuleChange,
  expectedVersion?: number,
): Promise<LimitState> => {
  const limits = requirePart(engine.store, "limits", operation);
  return announceAfter(engine, operation, ctx, async (afterCommit) => {
    const { kind, rule } = await limits.setRule({ ctx, ...scope, change, expectedVersion });
    if (kind === "version_mismatch")
      throw new VersionMismatchError(describeScope(scope), expectedVersion ?? 0, rule.version);
    if (kind === "set" && mayOpen(change)) afterCommit.notify("queueResumed", scope.queue);
    return findLimits(engine, operation, ctx, scope);
  });
};

export const setLimits = (engine: Engine, passed: unknown): Promise<LimitState> =>
  operation(
    engine,
    "limits.set",
    passed,
    { options: { ...scopeOptions, ...ruleOptions, expectedVersion: true } },
    async ({ options, ctx }) => {
      const scope = parseScope(engine, options);
      const change = parseLimitRule(options as Parameters<typeof parseLimitRule>[0]);
      if (Object.keys(change).length === 0) {
        const names = Object.keys(ruleOptions).map((name) => `\`${name}\``);
        throw new InvalidOptionError("options", `must have at least one of ${names.join(", ")}`);
      }
      const expectedVersion =
        options["expectedVersion"] === undefined
          ? undefined
          : requireInteger(options["expectedVersion"], "expectedVersion", { min: 0, max: largestInt32 });
      return changeRule(engine, "limits.set", ctx, scope, change, expectedVersion);
    },
  );

export const pause = (engine: Engine, passed: unknown): Promise<LimitState> =>
  operation(engine, "limits.pause", passed, { options: scopeOptions }, async ({ options, ctx }) => {
    return changeRule(engine, "limits.pause", ctx, parseScope(engine, options), { paused: true });
  });

export const resume = (engine: Engine, passed: unknown): Promise<LimitState> =>
  operation(
    engine,
    "limits.resume",
    passed,
    { options: { ...scopeOptions, group: true }, part: "limits" },
    async ({ options, ctx, part: limits }) => {
      if (options["group"] === undefined)
        return changeRule(engine, "limits.resume", ctx, parseScope(engine, options), { paused: false });

      const group = requireName(options["group"], "group");
      const scope = parseTypeScope(engine, options);
      return announceAfter(engine, "limits.resume", ctx, async (afterCommit) => {
        if (await limits.resumeGroup({ ctx, ...scope, group }))
          afterCommit.notify("queueResumed", scope.queue);
        return findLimits(engine, "limits.resume", ctx, scope);
      });
    },
  );

export const listLimits = (engine: Engine, passed: unknown = {}): Promise<LimitState[]> =>
  operation(
    engine,
    "limits.list",
    passed,
    { options: { queue: true }, part: "limits" },
    async ({ options, ctx, part }) => {
      const queue = options["queue"] === undefined ? null : requireName(options["queue"], "queue");
      const uses = await part.listRules({ ctx, queue });
      return uses.map(viewLimits);
    },
  );

export const listGroups = (engine: Engine, passed: unknown): Promise<GroupState[]> =>
  operation(
    engine,
    "limits.listGroups",
    passed,
    { options: { ...scopeOptions, throttled: true, order: true, limit: true }, part: "limits" },
    async ({ options, ctx, part }) => {
      const { throttled, order = "waiting", limit = 50 } = options;
      const groups = await part.listGroups({
        ctx,
        ...parseTypeScope(engine, options),
        throttled: throttled === undefined ? undefined : requireBoolean(throttled, "throttled"),
        order: requireOneOf(order, "order", ["waiting", "running"]),
        limit: requireInteger(limit, "limit", { min: 1, max: 1_000 }),
      });
      return groups.map(({ waitingSince, ...group }) => ({
        ...group,
        waitingSince: waitingSince === null ? null : new Date(waitingSince),
      }));
    },
  );
