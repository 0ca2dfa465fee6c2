import type { NotifyAdapter } from "leasehold/adapter";
import { createRedisNotifyAdapter } from "./notify-adapter.ts";
import type { RedisNotifyAdapterOptions } from "./options.ts";

/** Options of the notify adapter for tests. */
export type RedisTestNotifyAdapterOptions = Omit<RedisNotifyAdapterOptions, "channelPrefix">;

/** A notify adapter with channels and keys of its own, so that tests can share a server and run at the same time. */
export const createRedisTestNotifyAdapter = (
  options: RedisTestNotifyAdapterOptions,
): Promise<NotifyAdapter> =>
  createRedisNotifyAdapter({ ...options, channelPrefix: `leasehold-test-${crypto.randomUUID()}` });
