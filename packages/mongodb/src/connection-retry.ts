import { setTimeout as sleep } from "node:timers/promises";
import { InvalidOptionError, requireNestedOptions } from "leasehold/adapter";

/** How to wait for a server that is not available yet. */
export interface ConnectionRetryConfig {
  /** Tries in all. Default: 5. */
  readonly maxAttempts?: number | undefined;
  /** Before the second try; then twice as long each time. Default: 200. */
  readonly initialDelayMs?: number | undefined;
  /** Default: 5000. */
  readonly maxDelayMs?: number | undefined;
}

type Checked = { readonly [TOption in keyof ConnectionRetryConfig]-?: number };

// Timers cannot wait longer; they would fire at once.
const longestDelayMs = 2 ** 31 - 1;

export const readRetryConfig = (passed: unknown = {}): Checked => {
  const config = requireNestedOptions<keyof ConnectionRetryConfig>(passed, "connectionRetryConfig", {
    maxAttempts: true,
    initialDelayMs: true,
    maxDelayMs: true,
  });
  const read = (option: keyof ConnectionRetryConfig, usual: number, least: number): number => {
    const { [option]: value = usual } = config;
    if (!Number.isInteger(value) || Number(value) < least || Number(value) > longestDelayMs) {
      const range = `must be a whole number from ${least} to ${longestDelayMs}`;
      throw new InvalidOptionError(`connectionRetryConfig.${option}`, range, value);
    }
    return Number(value);
  };
  return {
    maxAttempts: read("maxAttempts", 5, 1),
    initialDelayMs: read("initialDelayMs", 200, 0),
    maxDelayMs: read("maxDelayMs", 5_000, 0),
  };
};

export const retryConnecting = async (
  { maxAttempts, initialDelayMs, maxDelayMs }: Checked,
  isTransientError: (error: unknown) => boolean,
  connect: () => Promise<void>,
): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await connect();
      return;
    } catch (error) {
      if (attempt >= maxAttempts || !isTransientError(error)) throw error;
    }
    const longest = Math.min(initialDelayMs * 2 ** (attempt - 1), maxDelayMs);
    await sleep(longest * (0.5 + Math.random() / 2));
  }
};
