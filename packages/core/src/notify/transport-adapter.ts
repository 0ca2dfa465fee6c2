import { shielded } from "../base/async.ts";
import { requireFunction } from "../base/options.ts";
import { withDeadline } from "../base/runtime.ts";
import { NotifyTimeoutError } from "../store/errors.ts";
import { createAwaitedSequences } from "./awaited.ts";
import {
  allNotificationKinds,
  awaitedChannel,
  type HintCounter,
  type HintCounting,
  type NotificationKind,
  kinds,
  type NotifyAdapter,
  type NotifyTransport,
} from "./contract.ts";
import { methodsFor, createSubscribers, type Subscribers } from "./in-process.ts";
import {
  awaitedQuestion,
  type CountedMessage,
  decodeCounted,
  decodeNames,
  encodeCounted,
  encodeNames,
  largestMessageBytes,
} from "./messages.ts";

export interface CountedHintsOptions {
  readonly subscribers: Subscribers;
  /** Absent: the message's count holds for each process. */
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

// Bounds the memory under a flood of forged messages. A dropped message is made good by polling.
const longestBacklog = 1_000;

const takeDeadlineMs = 2_000;

const tooLate = (): Error => new NotifyTimeoutError("Taking a notification", takeDeadlineMs);

/**
 * Handles hints with a counter one after another: taking a hint changes which subscribers want the next one. Handled
 * together, one idle worker would take two hints, and an idle worker of another process would get none.
 */
export const createCountedHints = ({ subscribers, take, onError }: CountedHintsOptions): CountedHints => {
  let backlog: WaitingHint[] = [];
  let isWorking = false;

  const handle = async ({ kind, message }: WaitingHint, takeHint: HintCounting["take"]): Promise<void> => {
    const { name, count, counter } = message;
    const wanted = Math.min(subscribers.wanting(kind, name), count);
    if (wanted === 0 || !counter) return;
    try {
      subscribers.notify(
        kind,
        name,
        await withDeadline(takeHint(counter, count, wanted), takeDeadlineMs, tooLate),
      );
    } catch (error) {
      // The broker cannot count now. A needless claim is better than a missed job.
      backlog = [];
      onError(error);
      subscribers.notifyAfterGap();
    }
  };

  const work = async (takeHint: HintCounting["take"]): Promise<void> => {
    isWorking = true;
    for (let hint = backlog.shift(); hint; hint = backlog.shift()) await handle(hint, takeHint);
    isWorking = false;
  };

  return {
    arrived: (kind, message) => {
      if (!take || !message.counter) {
        subscribers.notify(kind, message.name, message.count);
        return;
      }
      if (backlog.length >= longestBacklog) return;
      backlog.push({ kind, message });
      if (!isWorking) void work(take);
    },
    clear: () => {
      backlog = [];
    },
  };
};

/** The checked `onError` option of a notify adapter. The returned function ignores what `onError` throws or rejects with. */
export const readOnError = (onError: unknown = () => undefined): ((error: unknown) => void) => {
  const report = requireFunction<(error: unknown) => unknown>(onError, "onError");
  return (error) => shielded(() => report(error));
};

/** Options of a notify adapter over a transport. */
export interface CreateNotifyAdapterOptions {
  /** Called with errors of subscribers and of counters. */
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
  const channelOf = (kind: NotificationKind): string => transport.channelFor(kinds[kind].channel);
  const channelOfAwaited = transport.channelFor(awaitedChannel);
  const kindOf = new Map(allNotificationKinds.map((kind) => [channelOf(kind), kind]));
  const subscribers = createSubscribers(onError);
  const hints = createCountedHints({ subscribers, take: counting?.take, onError });

  const publishTo = async (channel: string, names: readonly string[]): Promise<void> => {
    if (names.length > 0) await transport.publish(channel, encodeNames(names, largestBytes));
  };

  const awaited = createAwaitedSequences({
    announce: (ids) => publishTo(channelOfAwaited, ids),
    ask: async () => transport.publish(channelOfAwaited, [awaitedQuestion]),
    publishEnded: (ids) => publishTo(channelOf("jobSequenceCompleted"), ids),
  });

  const receive = (channel: string, message: string): void => {
    if (channel === channelOfAwaited) {
      if (message === awaitedQuestion) awaited.asked();
      else awaited.arrived(decodeNames(message));
      return;
    }
    const kind = kindOf.get(channel);
    if (kind === undefined || !subscribers.has(kind)) return;
    if (kinds[kind].isCounted) {
      const counted = decodeCounted(message);
      if (counted) hints.arrived(kind, counted);
    } else {
      for (const name of decodeNames(message)) subscribers.notify(kind, name);
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
    if (kinds[kind].isCounted) {
      const channel = channelOf(kind);
      await Promise.all(names.map((name) => sendCounted(channel, name, count)));
      return;
    }
    await publishTo(channelOf(kind), kind === "jobSequenceCompleted" ? awaited.ended(names) : names);
  };

  const add: Subscribers["add"] = (kind, names, ...rest) => {
    const remove = subscribers.add(kind, names, ...rest);
    if (kind !== "jobSequenceCompleted" || names === null) return remove;
    const endWait = awaited.wait(names);
    return () => {
      endWait();
      remove();
    };
  };

  const onGap = (): void => {
    subscribers.notifyAfterGap();
    awaited.catchUp();
  };

  await transport.subscribe([...kindOf.keys(), channelOfAwaited], { onMessage: receive, onGap });
  awaited.catchUp();
  const close = async (): Promise<void> => {
    hints.clear();
    awaited.close();
    await transport.close();
  };
  return methodsFor({
    name: transport.name,
    subscribers: { ...subscribers, add },
    send,
    isAwaitedElsewhere: awaited.has,
    close,
  });
};
