import { largestInt32, longestDurationMs } from "./limits.ts";
import { requireInteger, requireNestedOptions } from "./option-checks.ts";
import { parseRetention, type RetentionOptions } from "./retention.ts";
import { defaultRetryPolicy, parseRetryPolicy, type RetryPolicy } from "./retry-policy.ts";

/** What counts for all jobs of an instance, unless something else is said for a type, a handler or a job. */
export interface LeaseholdDefaults {
  /** How often a job may run in all. Default: 4. */
  readonly maxAttempts?: number | undefined;
  /** Default: exponential with full jitter. */
  readonly retry?: RetryPolicy | undefined;
  /** How long one attempt may take. Default: no limit, so that a handler that hangs keeps its slot for ever. */
  readonly timeoutMs?: number | undefined;
  /** How long a job may wait for its first attempt before it fails with `expired`. Default: for ever. */
  readonly expireAfterMs?: number | undefined;
  /** How long finished jobs are kept; workers remove them afterwards. Default: for ever. */
  readonly retention?: RetentionOptions | undefined;
}

export interface ResolvedDefaults extends LeaseholdDefaults {
  readonly maxAttempts: number;
  readonly retry: RetryPolicy;
}

const builtInMaxAttempts = 4;

export const parseDefaults = (passed: unknown = {}): ResolvedDefaults => {
  const { maxAttempts, retry, timeoutMs, expireAfterMs, retention } = requireNestedOptions<
    keyof LeaseholdDefaults
  >(passed, "defaults", {
    maxAttempts: true,
    retry: true,
    timeoutMs: true,
    expireAfterMs: true,
    retention: true,
  });
  const integer = (value: unknown, option: string, max: number): number | undefined =>
    value === undefined ? undefined : requireInteger(value, `defaults.${option}`, { min: 1, max });
  return {
    maxAttempts: integer(maxAttempts, "maxAttempts", largestInt32) ?? builtInMaxAttempts,
    retry: retry === undefined ? defaultRetryPolicy : parseRetryPolicy(retry, "defaults.retry"),
    timeoutMs: integer(timeoutMs, "timeoutMs", longestDurationMs),
    expireAfterMs: integer(expireAfterMs, "expireAfterMs", longestDurationMs),
    retention: retention === undefined ? undefined : parseRetention(retention, "defaults.retention"),
  };
};

const hourMs = 3_600_000;

/**
 * For work that depends on others who may be down for hours: twenty attempts, the first within seconds of the failure
 * and the last about a day later, two days at most. Spread it into a job type, a handler or the `defaults`.
 */
export const patientRetries: { readonly maxAttempts: number; readonly retry: RetryPolicy } = Object.freeze({
  maxAttempts: 20,
  retry: Object.freeze({ type: "exponential", baseMs: 5_000, maxMs: 6 * hourMs, jitter: "full" }),
});
