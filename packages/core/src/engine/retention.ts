import type { PruneRule } from "../contracts/state-adapter.ts";
import type { RuntimeJobType } from "../model/job-type-options.ts";
import type { RetentionOptions } from "../model/retention.ts";

/** What workers remove in the background; the rules of a moment, or none at all where everything is kept. */
export interface Retention {
  readonly isUnlimited: boolean;
  rulesAt(now: number): PruneRule[];
}

interface Rule {
  readonly sequenceTypeNames: readonly string[] | null;
  readonly completedMs: number | null;
  readonly failedMs: number | null;
}

/** The types that say something of their own, then all the others. */
export const createRetention = (
  defaults: RetentionOptions | undefined,
  jobTypes: ReadonlyMap<string, RuntimeJobType>,
): Retention => {
  const resolve = (own: RetentionOptions, sequenceTypeNames: readonly string[] | null): Rule => {
    // Null is an answer: for ever.
    const pick = (name: keyof RetentionOptions): number | null =>
      (own[name] === undefined ? defaults?.[name] : own[name]) ?? null;
    return { sequenceTypeNames, completedMs: pick("completedMs"), failedMs: pick("failedMs") };
  };
  const rules = [...jobTypes].flatMap(([typeName, { retention }]) =>
    retention === undefined ? [] : [resolve(retention, [typeName])],
  );
  rules.push(resolve({}, null));
  return {
    isUnlimited: rules.every(({ completedMs, failedMs }) => completedMs === null && failedMs === null),
    rulesAt: (now) =>
      rules.map(({ sequenceTypeNames, completedMs, failedMs }) => ({
        sequenceTypeNames,
        completedBefore: completedMs === null ? null : now - completedMs,
        failedBefore: failedMs === null ? null : now - failedMs,
      })),
  };
};
