export { RedisUnavailableError } from "./provider.ts";

export { NotifyTimeoutError } from "leasehold/adapter";

export { createRedisNotifyAdapter } from "./notify-adapter.ts";

export type { RedisNotifyAdapterOptions } from "./options.ts";

export type { RedisNotifyProvider, RedisSubscription, RedisSubscriptionHandlers } from "./provider.ts";

export {
  createIoredisNotifyProvider,
  type IoredisClient,
  type IoredisNotifyProviderOptions,
  type IoredisSubscriber,
} from "./providers/ioredis.ts";

export {
  createNodeRedisNotifyProvider,
  type NodeRedisClient,
  type NodeRedisNotifyProviderOptions,
  type NodeRedisSubscriber,
} from "./providers/node-redis.ts";
