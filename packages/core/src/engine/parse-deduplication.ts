import type { DeduplicationOptions } from "../api/start-options.ts";
import type { NewJobDeduplication, OnDuplicate } from "../contracts/state-adapter.ts";
import { InvalidOptionError } from "../errors.ts";
import { longestDurationMs } from "../model/limits.ts";
import {
  requireDeduplicationKey,
  requireInteger,
  requireNestedOptions,
  requireOneOf,
} from "../model/option-checks.ts";

type Scope = NewJobDeduplication["scope"];

const scopes = ["pending", "unfinished", "all"] as const;

const parseScope = (scope: unknown, strategy: unknown): Scope => {
  const given = scope === undefined ? undefined : requireOneOf(scope, "deduplication.scope", scopes);
  if (strategy === undefined) return given ?? "unfinished";
  const known = requireOneOf(strategy, "deduplication.strategy", ["completed", "all"]);
  const meant: Scope = known === "completed" ? "unfinished" : "all";
  if (given !== undefined && given !== meant) {
    throw new InvalidOptionError(
      "deduplication.strategy",
      `contradicts \`scope\`, which is "${given}". Leave \`strategy\` out: it is the old name of \`scope\``,
      strategy,
    );
  }
  return meant;
};

const parseWindow = (windowMs: unknown, scope: Scope): number | null => {
  if (windowMs === undefined) return null;
  if (scope === "pending") {
    throw new InvalidOptionError(
      "deduplication.windowMs",
      'must be left out with the scope "pending": a job that waits counts however long it has waited',
      windowMs,
    );
  }
  return requireInteger(windowMs, "deduplication.windowMs", { min: 1, max: Number.MAX_SAFE_INTEGER });
};

const option = "deduplication.onDuplicate";

/** Undefined for `keep`: a duplicate is left as it is. */
const parseOnDuplicate = (value: unknown): OnDuplicate | undefined => {
  if (value === undefined || value === "keep") return undefined;
  if (value === "replace") return value;
  if (typeof value !== "object" || value === null) {
    throw new InvalidOptionError(option, 'must be "keep", "replace" or { debounce: { maxDelayMs } }', value);
  }
  const { debounce } = requireNestedOptions(value, option, { debounce: true });
  const { maxDelayMs } = requireNestedOptions(debounce, `${option}.debounce`, { maxDelayMs: true });
  const limits = { min: 1, max: longestDurationMs };
  return { debounce: { maxDelayMs: requireInteger(maxDelayMs, `${option}.debounce.maxDelayMs`, limits) } };
};

export const parseDeduplication = (value: unknown): NewJobDeduplication | null => {
  if (value === undefined) return null;
  const passed = requireNestedOptions<keyof DeduplicationOptions>(value, "deduplication", {
    key: true,
    scope: true,
    windowMs: true,
    onDuplicate: true,
    strategy: true,
  });
  const scope = parseScope(passed.scope, passed.strategy);
  const onDuplicate = parseOnDuplicate(passed.onDuplicate);
  return {
    key: requireDeduplicationKey(passed.key, "deduplication.key"),
    scope,
    windowMs: parseWindow(passed.windowMs, scope),
    ...(onDuplicate && { onDuplicate }),
  };
};
