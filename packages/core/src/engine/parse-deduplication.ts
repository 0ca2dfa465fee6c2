import type { DeduplicationOptions } from "../api/start-options.ts";
import type { NewJobDeduplication } from "../contracts/state-adapter.ts";
import { InvalidOptionError } from "../errors.ts";
import {
  requireDeduplicationKey,
  requireInteger,
  requireNestedOptions,
  requireOneOf,
} from "../model/option-checks.ts";

type Scope = NewJobDeduplication["scope"];

const parseScope = (scope: unknown, strategy: unknown): Scope => {
  const given =
    scope === undefined ? undefined : requireOneOf(scope, "deduplication.scope", ["unfinished", "all"]);
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

export const parseDeduplication = (value: unknown): NewJobDeduplication | null => {
  if (value === undefined) return null;
  const { key, scope, strategy, windowMs } = requireNestedOptions<keyof DeduplicationOptions>(
    value,
    "deduplication",
    { key: true, scope: true, windowMs: true, strategy: true },
  );
  return {
    key: requireDeduplicationKey(key, "deduplication.key"),
    scope: parseScope(scope, strategy),
    windowMs:
      windowMs === undefined
        ? null
        : requireInteger(windowMs, "deduplication.windowMs", { min: 1, max: Number.MAX_SAFE_INTEGER }),
  };
};
