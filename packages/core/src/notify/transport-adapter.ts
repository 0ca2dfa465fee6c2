import { shielded } from "../base/async.ts";
import { requireFunction } from "../base/options.ts";
import { withDeadline } from "../base/runtime.ts";
import { BrokerTimeoutError } from "../store/errors.ts";
import {
  allNotificationKinds,
  type HintCounter,
  type HintCounting,
  type NotificationKind,
  notificationKinds,
  type NotifyAdapter,
  type NotifyTransport,
} from "./contract.ts";
import {
  createAdapterMethods,
  createNotificationListeners,
  type NotificationListeners,
} from "./in-process.ts";
import {
  type CountedMessage,
  decodeCounted,
  decodeNames,
  encodeCounted,
  encodeNames,
  largestMessageBytes,
} from "./messages.ts";

export interface CountedHintsOptions {
  readonly listeners: NotificationListeners;
  /** Absent: as many listeners of this process look as the message says. */
  readonly take: HintCounting["take"] | undefined;
  readonly onError: (error: unknown) => void;
}

export interface CountedHints {
  arrived(kind: NotificationKind, message: CountedMessage): void;
  clear(): void;
}

interface WaitingHint {
  readonly kind: NotificationKind;
  readonly message: CountedMessage;
}

// A flood of forged messages must not fill the memory. One that is dropped costs a poll.
const longestLine = 1_000;

const takeDeadlineMs = 2_000;

const tooLate = (): Error => new BrokerTimeoutError("Taking a notification", takeDeadlineMs);

/**
 * Hints with a counter wait in line: whether a listener wants the second is known only when the first has been given
 * out. Asked about both at once, one idle worker would take both and leave another, somewhere else, asleep.
 */
export const createCountedHints = ({ listeners, take, onError }: CountedHintsOptions): CountedHints => {
  let line: WaitingHint[] = [];
  let isWorking = false;

  const handle = async ({ kind, message }: WaitingHint, takeHint: HintCounting["take"]): Promise<void> => {
    const { name, count, counter } = message;
    const wanted = Math.min(listeners.wanting(kind, name), count);
    if (wanted === 0 || !counter) return;
    try {
      listeners.tell(
        kind,
        name,
        await withDeadline(takeHint(counter, count, wanted), takeDeadlineMs, tooLate),
      );
    } catch (error) {
      // Nothing can be counted for now. To look once too often is better than not at all.
      line = [];
      onError(error);
      listeners.tellEveryone();
    }
  };

  const work = async (takeHint: HintCounting["take"]): Promise<void> => {
    isWorking = true;
    for (let hint = line.shift(); hint; hint = line.shift()) await handle(hint, takeHint);
    isWorking = false;
  };

  return {
    arrived: (kind, message) => {
      if (!take || !message.counter) {
        listeners.tell(kind, message.name, message.count);
        return;
      }
      if (line.length >= longestLine) return;
      line.push({ kind, message });
      if (!isWorking) void work(take);
    },
    clear: () => {
      line = [];
    },
  };
};

/** The `onError` option of a notify adapter, checked, and safe to call: what it throws, or rejects with, goes no further. */
export const readOnError = (onError: unknown = () => undefined): ((error: unknown) => void) => {
  const report = requireFunction<(error: unknown) => unknown>(onError, "onError");
  return (error) => shielded(() => report(error));
};

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
