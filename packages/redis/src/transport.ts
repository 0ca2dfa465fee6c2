import { BrokerTimeoutError, type NotifyTransport, withDeadline } from "leasehold/adapter";
import { createRedisCommands } from "./commands.ts";
import type { CheckedOptions } from "./options.ts";
import { openWatchedSubscription, type WatchedSubscription } from "./subscription.ts";

// A broker that is down must not keep an application from starting.
const firstSubscriptionMs = 2_000;
const tooLate = (): Error => new BrokerTimeoutError("The first subscription to Redis", firstSubscriptionMs);

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
