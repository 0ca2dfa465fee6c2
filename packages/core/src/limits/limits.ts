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
import { encodeCursor, pageOptions, parsePage } from "../engine/pages.ts";
import { parseSchedule } from "../job-types/settings.ts";
import type { GroupPage, LimitRuleChange, LimitScope, LimitUse } from "../store/contract/limits.ts";
import { VersionMismatchError } from "../store/errors.ts";
import { requirePart } from "../store/parts.ts";
import { emptyLimitRule } from "../store/rules/limits.ts";
import type { GroupListing, LimitState } from "./api.ts";
import { type LimitRuleOptions, parseLimitRule, parseNamedGroup } from "./rule.ts";
import { parseScope, parseTypeScope, scopeOptions } from "./scope.ts";

const ruleOptions: OptionNames<keyof LimitRuleOptions> = {
  paused: true,
  concurrency: true,
  rate: true,
  perGroup: true,
  weights: true,
};

const toDate = (time: number | null): Date | null => (time === null ? null : new Date(time));

const viewLimits = ({ rule: { pausedUntil, ...rule }, ...use }: LimitUse): LimitState => ({
  ...rule,
  pausedUntil: toDate(pausedUntil),
  ...use,
});

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
  return viewLimits({ rule, running: 0, tokens: null, claimableGroups: 0, throttledGroups: 0 });
};

const describeScope = ({ queue, typeName }: LimitScope): string =>
  typeName === null ? `rule of queue "${queue}"` : `rule of job type "${typeName}" in queue "${queue}"`;

/**
 * Whether throttled jobs may run after this change, or workers have to wake earlier than they know: a pause may get an end that
 * it did not have.
 */
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
    { options: { ...scopeOptions, ...ruleOptions, group: true, expectedVersion: true }, part: "limits" },
    async ({ options, ctx }) => {
      const given = options as Parameters<typeof parseLimitRule>[0];
      const group = options["group"] === undefined ? undefined : requireName(options["group"], "group");
      const change = group === undefined ? parseLimitRule(given) : parseNamedGroup(group, given);
      if (Object.keys(change).length === 0) {
        const parts = group === undefined ? Object.keys(ruleOptions) : ["concurrency", "rate"];
        const names = parts.map((name) => `\`${name}\``);
        throw new InvalidOptionError("options", `must have at least one of ${names.join(", ")}`);
      }
      const expectedVersion =
        options["expectedVersion"] === undefined
          ? undefined
          : requireInteger(options["expectedVersion"], "expectedVersion", { min: 0, max: largestInt32 });
      const parse = group === undefined ? parseScope : parseTypeScope;
      const scope = await parse(engine, "limits.set", ctx, options);
      return changeRule(engine, "limits.set", ctx, scope, change, expectedVersion);
    },
  );

export const pause = (engine: Engine, passed: unknown): Promise<LimitState> =>
  operation(
    engine,
    "limits.pause",
    passed,
    { options: { ...scopeOptions, group: true, until: true }, part: "limits" },
    async ({ options, ctx, part: limits }) => {
      const until = options["until"] === undefined ? null : parseSchedule(options["until"], "until");
      if (options["group"] === undefined) {
        const scope = await parseScope(engine, "limits.pause", ctx, options);
        const change = { paused: true, ...(until !== null && { pauseUntil: until }) };
        return changeRule(engine, "limits.pause", ctx, scope, change);
      }
      const group = requireName(options["group"], "group");
      const scope = await parseTypeScope(engine, "limits.pause", ctx, options);
      return announceAfter(engine, "limits.pause", ctx, async (afterCommit) => {
        await limits.pauseGroup({ ctx, ...scope, group, until });
        // A pause may get an end that it did not have: workers have to wake then.
        if (until !== null) afterCommit.notify("queueResumed", scope.queue);
        return findLimits(engine, "limits.pause", ctx, scope);
      });
    },
  );

export const resume = (engine: Engine, passed: unknown): Promise<LimitState> =>
  operation(
    engine,
    "limits.resume",
    passed,
    { options: { ...scopeOptions, group: true }, part: "limits" },
    async ({ options, ctx, part: limits }) => {
      if (options["group"] === undefined) {
        const scope = await parseScope(engine, "limits.resume", ctx, options);
        return changeRule(engine, "limits.resume", ctx, scope, { paused: false });
      }

      const group = requireName(options["group"], "group");
      const scope = await parseTypeScope(engine, "limits.resume", ctx, options);
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

const kind = "groups";

const mostReads = 4;

export const listGroups = (engine: Engine, passed: unknown): Promise<GroupListing> =>
  operation(
    engine,
    "limits.listGroups",
    passed,
    { options: { ...scopeOptions, throttled: true, order: true, ...pageOptions }, part: "limits" },
    async ({ options, ctx, part }) => {
      const { throttled, order = "name" } = options;
      const wanted = {
        throttled: throttled === undefined ? undefined : requireBoolean(throttled, "throttled"),
        order: requireOneOf(order, "order", ["name", "waiting", "running"]),
      };
      const { limit, after } = parsePage(kind, options);
      if (after !== null && wanted.order !== "name")
        throw new InvalidOptionError("cursor", 'needs the order "name"');
      const scope = await parseTypeScope(engine, "limits.listGroups", ctx, options);
      const look = (from: string | null, most: number): Promise<GroupPage> =>
        part.listGroups({ ctx, ...scope, ...wanted, after: from, limit: most });
      let page = await look(after?.id ?? null, limit);
      // A store reads a bounded number of groups at a time, of which few may match.
      for (let reads = 1; page.next !== null && page.groups.length < limit && reads < mostReads; reads += 1) {
        const { groups, next } = page;
        const rest = await look(next, limit - groups.length);
        page = { groups: [...groups, ...rest.groups], next: rest.next };
      }
      return {
        groups: page.groups.map(({ waitingSince, pausedUntil, ...group }) => ({
          ...group,
          waitingSince: toDate(waitingSince),
          pausedUntil: toDate(pausedUntil),
        })),
        cursor: page.next === null ? null : encodeCursor(kind, { createdAt: 0, id: page.next }),
      };
    },
  );
