import { InvalidOptionError, readOnError, requireOptions } from "leasehold/adapter";
import type { RedisNotifyProvider } from "./provider.ts";

/** Options of `createRedisNotifyAdapter`. */
export interface RedisNotifyAdapterOptions {
  /** From `createNodeRedisNotifyProvider` or `createIoredisNotifyProvider`. */
  readonly notifyProvider: RedisNotifyProvider;
  /** Every channel and key begins with it. Default: "leasehold". The same in every process that shares jobs. */
  readonly channelPrefix?: string | undefined;
  /** How often the subscription is checked. Default: 5,000. */
  readonly heartbeatMs?: number | undefined;
  /** Called with what goes wrong in the background: lost connections, listeners that throw. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface CheckedOptions {
  readonly notifyProvider: RedisNotifyProvider;
  readonly channelPrefix: string;
  readonly heartbeatMs: number;
  readonly onError: (error: unknown) => void;
}

const prefixShape = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}$/;

const providerMethods = ["evaluate", "openSubscription", "onError"] as const;

const longestHeartbeatMs = 3_600_000;

export const checkOptions = (passed: RedisNotifyAdapterOptions): CheckedOptions => {
  const options = requireOptions<keyof RedisNotifyAdapterOptions>(passed, "createRedisNotifyAdapter", {
    notifyProvider: true,
    channelPrefix: true,
    heartbeatMs: true,
    onError: true,
  }) as RedisNotifyAdapterOptions;
  const { notifyProvider, channelPrefix = "leasehold", heartbeatMs = 5_000, onError } = options;
  for (const method of providerMethods) {
    if (typeof notifyProvider?.[method] !== "function") {
      const source = "createNodeRedisNotifyProvider or createIoredisNotifyProvider";
      throw new InvalidOptionError("notifyProvider", `must come from ${source}`, notifyProvider);
    }
  }
  if (typeof channelPrefix !== "string" || !prefixShape.test(channelPrefix)) {
    const shape = "1 to 64 letters, digits, or any of _ . : - (not at the beginning, except _)";
    throw new InvalidOptionError("channelPrefix", `must have ${shape}`, channelPrefix);
  }
  if (!Number.isSafeInteger(heartbeatMs) || heartbeatMs < 10 || heartbeatMs > longestHeartbeatMs) {
    const range = `must be an integer from 10 to ${longestHeartbeatMs}`;
    throw new InvalidOptionError("heartbeatMs", range, heartbeatMs);
  }
  return { notifyProvider, channelPrefix, heartbeatMs, onError: readOnError(onError) };
};
