import type { NotifyAdapter } from "../contracts/notify-adapter.ts";
import type { HintCounter, NotifyTransport } from "../contracts/notify-transport.ts";
import { createAdapterMethods } from "./adapter-methods.ts";
import { createCountedHints } from "./counted-hints.ts";
import { allNotificationKinds, type NotificationKind, notificationKinds } from "./kinds.ts";
import { createNotificationListeners } from "./listeners.ts";
import { decodeCounted, decodeNames, encodeCounted, encodeNames, largestMessageBytes } from "./messages.ts";
import { readOnError } from "./read-on-error.ts";

export interface CreateNotifyAdapterOptions {
  /** Hears of listeners that throw and of counters that cannot be asked. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A notify adapter over anything that can publish and subscribe. Resolves when the transport has subscribed. */
export const createNotifyAdapter = async (
  transport: NotifyTransport,
  options: CreateNotifyAdapterOptions = {},
): Promise<NotifyAdapter> => {
  const onError = readOnError(options.onError);
  const { counting } = transport;
  const largestBytes = Math.min(transport.largestMessageBytes ?? largestMessageBytes, largestMessageBytes);
  const channelOf = (kind: NotificationKind): string => transport.channelFor(notificationKinds[kind].channel);
  const kindOf = new Map(allNotificationKinds.map((kind) => [channelOf(kind), kind]));
  const listeners = createNotificationListeners(onError);
  const hints = createCountedHints({ listeners, take: counting?.take, onError });

  const receive = (channel: string, message: string): void => {
    const kind = kindOf.get(channel);
    if (kind === undefined || !listeners.has(kind)) return;
    if (notificationKinds[kind].isCounted) {
      const counted = decodeCounted(message);
      if (counted) hints.arrived(kind, counted);
    } else {
      for (const name of decodeNames(message)) listeners.tell(kind, name);
    }
  };

  const sendCounted = async (channel: string, name: string, count: number): Promise<void> => {
    if (!(count > 0)) return;
    const encode = (counter?: HintCounter): string =>
      encodeCounted(counter ? { name, count, counter } : { name, count });
    if (counting) await counting.publish(channel, count, encode);
    else await transport.publish(channel, [encode()]);
  };

  const send = async (kind: NotificationKind, names: readonly string[], count = 1): Promise<void> => {
    const channel = channelOf(kind);
    if (notificationKinds[kind].isCounted) {
      await Promise.all(names.map((name) => sendCounted(channel, name, count)));
      return;
    }
    const messages = encodeNames(names, largestBytes);
    if (messages.length > 0) await transport.publish(channel, messages);
  };

  await transport.subscribe([...kindOf.keys()], { onMessage: receive, onGap: listeners.tellEveryone });
  const close = async (): Promise<void> => {
    hints.clear();
    await transport.close();
  };
  return createAdapterMethods({ name: transport.name, listeners, send, close });
};
