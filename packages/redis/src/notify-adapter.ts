import {
  AdapterClosedError,
  BrokerTimeoutError,
  createHintListeners,
  createScheduledHints,
  decodeIds,
  decodeScheduled,
  encodeIds,
  type NotifyAdapter,
  withDeadline,
} from "leasehold/adapter";
import { createRedisCommands } from "./commands.ts";
import { checkOptions, type RedisNotifyAdapterOptions } from "./options.ts";
import { openWatchedSubscription } from "./subscription.ts";

// A broker that is down must not keep an application from starting.
const firstSubscriptionMs = 2_000;

/**
 * Carries hints between processes over Redis: three channels, and for each hint about runnable jobs a counter, from
 * which an idle worker takes before it asks the store. Uses the client it is given for commands and opens one more
 * connection for the subscription.
 *
 * Resolves once the subscription is active, or after two seconds without Redis; it then becomes active as soon as
 * Redis can be reached. Only an invalid option rejects.
 */
export const createRedisNotifyAdapter = async (
  options: RedisNotifyAdapterOptions,
): Promise<NotifyAdapter> => {
  const { notifyProvider, channelPrefix, heartbeatMs, onError } = checkOptions(options);
  const scheduledChannel = `${channelPrefix}:sched`;
  const completedChannel = `${channelPrefix}:seqc`;
  const lostChannel = `${channelPrefix}:owls`;
  let closed = false;

  const commands = createRedisCommands(notifyProvider, channelPrefix);
  const listeners = createHintListeners(onError);
  const scheduled = createScheduledHints({ listeners, take: commands.take, onError });

  const receive = (channel: string, message: string): void => {
    if (channel === scheduledChannel) {
      const hint = decodeScheduled(message);
      // Ours always have a counter.
      if (hint?.hintId !== undefined) scheduled.arrived(hint);
    } else if (channel === completedChannel) {
      if (listeners.awaitCompletions) for (const id of decodeIds(message)) listeners.tellCompleted(id);
    } else if (channel === lostChannel) {
      for (const id of decodeIds(message)) listeners.tellLost(id);
    }
  };

  const stopHearingErrors = notifyProvider.onError(onError);
  const subscription = openWatchedSubscription({
    provider: notifyProvider,
    commands,
    prefix: channelPrefix,
    channels: [scheduledChannel, completedChannel, lostChannel],
    heartbeatMs,
    onMessage: receive,
    onActive: listeners.tellEveryone,
    onError,
  });
  try {
    await withDeadline(
      subscription.active,
      firstSubscriptionMs,
      () => new BrokerTimeoutError("The first subscription to Redis", firstSubscriptionMs),
    );
  } catch (error) {
    onError(error);
  }

  const assertUsable = (): void => {
    if (closed) throw new AdapterClosedError("Redis notify adapter");
  };
  const publishIds = async (channel: string, ids: readonly string[]): Promise<void> => {
    assertUsable();
    await Promise.all(encodeIds(ids).map((message) => commands.publish(channel, message)));
  };
  const listen = async (add: () => () => void) => {
    assertUsable();
    const remove = add();
    return async () => remove();
  };

  return {
    notifyJobScheduled: async (typeName, count) => {
      assertUsable();
      if (count > 0) await commands.announce(scheduledChannel, typeName, count);
    },
    listenJobScheduled: (typeNames, onScheduled, wantsHint) =>
      listen(() => listeners.addScheduled(typeNames, onScheduled, wantsHint)),
    notifyJobSequenceCompleted: (sequenceIds) => publishIds(completedChannel, sequenceIds),
    listenJobSequenceCompleted: (sequenceIds, onCompleted) =>
      listen(() => listeners.addCompleted(sequenceIds, onCompleted)),
    notifyJobOwnershipLost: (jobIds) => publishIds(lostChannel, jobIds),
    listenJobOwnershipLost: (onLost) => listen(() => listeners.addLost(onLost)),
    close: async () => {
      if (closed) return;
      closed = true;
      listeners.clear();
      scheduled.clear();
      await subscription.close();
      stopHearingErrors();
    },
  };
};
