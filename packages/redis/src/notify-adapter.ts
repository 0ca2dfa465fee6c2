import {
  NotifyTimeoutError,
  createNotifyAdapter,
  type NotifyAdapter,
  type NotifyTransport,
  withDeadline,
} from "leasehold/adapter";
import { createRedisCommands } from "./commands.ts";
import { type CheckedOptions, checkOptions, type RedisNotifyAdapterOptions } from "./options.ts";
import { openWatchedSubscription, type WatchedSubscription } from "./subscription.ts";

// A broker that is down must not keep an application from starting.
const firstSubscriptionMs = 2_000;

const tooLate = (): Error => new NotifyTimeoutError("The first subscription to Redis", firstSubscriptionMs);

export const createRedisTransport = (options: CheckedOptions): NotifyTransport => {
  const { notifyProvider, channelPrefix, heartbeatMs, onError } = options;
  const commands = createRedisCommands(notifyProvider, channelPrefix);
  const stopHearingErrors = notifyProvider.onError(onError);
  let subscription: WatchedSubscription | undefined;

  return {
    name: "Redis notify adapter",
    channelFor: ({ short }) => `${channelPrefix}:${short}`,
    counting: commands.counting,
    publish: async (channel, messages) => {
      await Promise.all(messages.map((message) => commands.publish(channel, message)));
    },
    subscribe: async (channels, { onMessage, onGap }) => {
      subscription = openWatchedSubscription({
        provider: notifyProvider,
        commands,
        prefix: channelPrefix,
        channels,
        heartbeatMs,
        onMessage,
        onActive: onGap,
        onError,
      });
      await withDeadline(subscription.active, firstSubscriptionMs, tooLate).catch(onError);
    },
    close: async () => {
      await subscription?.close();
      stopHearingErrors();
    },
  };
};

/**
 * Carries notifications between processes over Redis. Each notification of runnable jobs has a counter, from which an
 * idle worker takes before it asks the store. Uses the client it is given for commands and opens one more connection
 * for the subscription.
 *
 * Resolves once the subscription is active, or after two seconds without Redis; it then becomes active as soon as
 * Redis can be reached. Only an invalid option rejects.
 */
export const createRedisNotifyAdapter = async (
  options: RedisNotifyAdapterOptions,
): Promise<NotifyAdapter> => {
  const checked = checkOptions(options);
  return createNotifyAdapter(createRedisTransport(checked), { onError: checked.onError });
};
