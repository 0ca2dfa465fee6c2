import { delayOf } from "../base/backoff.ts";
import { InvalidOptionError } from "../base/errors.ts";
import {
  type OptionNames,
  requireNestedOptions,
  requireNumber,
  requireOneOf,
  requirePlainObject,
} from "../base/options.ts";

/** The attempt that failed, counted from 1, and what it threw. */
export interface RetryInfo {
  readonly attempt: number;
  readonly error: unknown;
}

/** How long a job waits after a failed attempt, in milliseconds. */
export type RetryPolicy =
  | {
      readonly type: "exponential";
      readonly baseMs?: number;
      readonly maxMs?: number;
      readonly jitter?: "full" | "none";
    }
  | { readonly type: "fixed"; readonly delayMs: number }
  | { readonly type: "linear"; readonly stepMs: number; readonly maxMs?: number }
  | ((info: RetryInfo) => number);

type PolicyType = Extract<RetryPolicy, { type: string }>["type"];

type PolicyOf<TType extends PolicyType> = Extract<RetryPolicy, { type: TType }>;

type ExponentialRetryPolicy = PolicyOf<"exponential">;

const defaultBaseMs = 500;

const defaultMaxMs = 30_000;

const longestDelayMs = 100 * 365.25 * 24 * 3_600_000;

export const defaultRetryPolicy: ExponentialRetryPolicy = {
  type: "exponential",
  baseMs: defaultBaseMs,
  maxMs: defaultMaxMs,
  jitter: "full",
};

const exponentialDelayMs = (
  policy: ExponentialRetryPolicy,
  attempt: number,
  random: () => number,
): number => {
  const { baseMs = defaultBaseMs, maxMs = Math.max(defaultMaxMs, baseMs), jitter = "full" } = policy;
  return delayOf({ firstMs: baseMs, longestMs: maxMs, jitter }, attempt + 1, random);
};

const isUsableDelay = (delay: unknown): delay is number =>
  typeof delay === "number" && delay >= 0 && delay <= longestDelayMs;

const customDelayMs = (policy: (info: RetryInfo) => number, info: RetryInfo): number | undefined => {
  try {
    const delay: unknown = policy(info);
    if (isUsableDelay(delay)) return delay;
    // A mistakenly async function must not take the process down with an unhandled rejection.
    if (delay instanceof Promise) delay.catch(() => undefined);
  } catch {
    // The failure being recorded matters more than the policy's own.
  }
  return undefined;
};

const rawDelayMs = (policy: RetryPolicy, info: RetryInfo, random: () => number): number => {
  if (typeof policy === "function") {
    return customDelayMs(policy, info) ?? exponentialDelayMs(defaultRetryPolicy, info.attempt, random);
  }
  switch (policy.type) {
    case "exponential":
      return exponentialDelayMs(policy, info.attempt, random);
    case "fixed":
      return policy.delayMs;
    case "linear":
      return Math.min(policy.stepMs * info.attempt, policy.maxMs ?? longestDelayMs);
  }
};

/**
 * The wait before the next attempt, in whole milliseconds. Never throws: a user's function that throws or answers with
 * anything but a delay of up to a hundred years counts as the default policy.
 */
export const retryDelayMs = (policy: RetryPolicy, info: RetryInfo, random: () => number): number =>
  Math.min(Math.max(Math.ceil(rawDelayMs(policy, info, random)), 0), longestDelayMs);

const parseDelay = (value: unknown, option: string): number =>
  requireNumber(value, option, { min: 0, max: longestDelayMs });

const parseOptionalDelay = (value: unknown, option: string): number | undefined =>
  value === undefined ? undefined : parseDelay(value, option);

const exponentialFields: OptionNames<keyof ExponentialRetryPolicy> = {
  type: true,
  baseMs: true,
  maxMs: true,
  jitter: true,
};

const parseExponential = (given: unknown, option: string): RetryPolicy => {
  const fields = requireNestedOptions<keyof ExponentialRetryPolicy>(given, option, exponentialFields);
  const baseMs = parseOptionalDelay(fields.baseMs, `${option}.baseMs`) ?? defaultBaseMs;
  const maxMs = parseOptionalDelay(fields.maxMs, `${option}.maxMs`) ?? Math.max(defaultMaxMs, baseMs);
  if (maxMs < baseMs) {
    throw new InvalidOptionError(
      `${option}.maxMs`,
      `must be at least baseMs, which is ${baseMs}`,
      fields.maxMs,
    );
  }
  const jitter = requireOneOf(fields.jitter ?? "full", `${option}.jitter`, ["full", "none"]);
  return { type: "exponential", baseMs, maxMs, jitter };
};

/** `undefined` is the default policy. */
export const parseRetryPolicy = (value: unknown, option: string): RetryPolicy => {
  if (value === undefined) return defaultRetryPolicy;
  if (typeof value === "function") return value as (info: RetryInfo) => number;
  const given = requirePlainObject(value, option);
  const type = requireOneOf(given["type"], `${option}.type`, ["exponential", "fixed", "linear"]);
  switch (type) {
    case "exponential":
      return parseExponential(given, option);
    case "fixed": {
      const { delayMs } = requireNestedOptions<keyof PolicyOf<"fixed">>(given, option, {
        type: true,
        delayMs: true,
      });
      return { type, delayMs: parseDelay(delayMs, `${option}.delayMs`) };
    }
    case "linear": {
      const fields = requireNestedOptions<keyof PolicyOf<"linear">>(given, option, {
        type: true,
        stepMs: true,
        maxMs: true,
      });
      const stepMs = parseDelay(fields.stepMs, `${option}.stepMs`);
      const maxMs = parseOptionalDelay(fields.maxMs, `${option}.maxMs`);
      return maxMs === undefined ? { type, stepMs } : { type, stepMs, maxMs };
    }
  }
};
