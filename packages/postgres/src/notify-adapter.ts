import {
  AdapterClosedError,
  createHintListeners,
  decodeIds,
  decodeScheduled,
  encodeIds,
  encodeScheduled,
  InvalidOptionError,
  type NotifyAdapter,
  requireOptions,
} from "leasehold/adapter";
import { quoteIdentifier } from "./sql/identifiers.ts";
import { openListener } from "./listener.ts";
import type { PgNotifyProvider } from "./notify-provider.ts";

export interface PgNotifyAdapterOptions {
  readonly notifyProvider: PgNotifyProvider;
  /** Names the channels. Adapters with the same prefix in the same database hear each other. Default: "leasehold". */
  readonly channelPrefix?: string | undefined;
  /** How often the listening connection is asked whether it is still there. Default: 10,000. */
  readonly heartbeatMs?: number | undefined;
  /** Hears of lost connections and of listeners that throw. By default they pass in silence: polling goes on. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

// PostgreSQL refuses payloads of 8,000 bytes and more.
const largestPayloadBytes = 7_900;

const checkHeartbeat = (heartbeatMs: unknown): number => {
  if (typeof heartbeatMs !== "number" || !(heartbeatMs >= 10 && heartbeatMs <= 2 ** 31 - 1)) {
    throw new InvalidOptionError("heartbeatMs", "must be a number of milliseconds, at least 10", heartbeatMs);
  }
  return heartbeatMs;
};

/**
 * Carries hints by LISTEN/NOTIFY. PostgreSQL tells every session that listens, so the count of a hint holds within a
 * process, not across processes. After a loss the adapter listens again and has everyone look once.
 */
export const createPgNotifyAdapter = async (options: PgNotifyAdapterOptions): Promise<NotifyAdapter> => {
  const {
    notifyProvider,
    channelPrefix = "leasehold",
    heartbeatMs = 10_000,
    onError = () => {},
  } = requireOptions<keyof PgNotifyAdapterOptions>(options, "createPgNotifyAdapter", {
    notifyProvider: true,
    channelPrefix: true,
    heartbeatMs: true,
    onError: true,
  }) as PgNotifyAdapterOptions;
  if (typeof notifyProvider?.subscribe !== "function") {
    throw new InvalidOptionError(
      "notifyProvider",
      "must be a provider, such as createPgNotifyProvider({ pool }) returns",
      typeof notifyProvider,
    );
  }
  quoteIdentifier(channelPrefix, "channelPrefix");
  const scheduledChannel = `${channelPrefix}_scheduled`;
  const completedChannel = `${channelPrefix}_completed`;
  const lostChannel = `${channelPrefix}_lost`;
  const listeners = createHintListeners(onError);

  const hear = (channel: string, payload: string): void => {
    if (channel === scheduledChannel) {
      const hint = decodeScheduled(payload);
      if (hint) listeners.tellScheduled(hint.typeName, hint.count);
    } else if (channel === completedChannel) {
      if (listeners.awaitCompletions) for (const id of decodeIds(payload)) listeners.tellCompleted(id);
    } else if (channel === lostChannel) {
      for (const id of decodeIds(payload)) listeners.tellLost(id);
    }
  };

  const listener = openListener({
    provider: notifyProvider,
    channels: [scheduledChannel, completedChannel, lostChannel],
    heartbeatMs: checkHeartbeat(heartbeatMs),
    onMessage: hear,
    onListening: () => listeners.tellEveryone(),
    onError,
  });

  let closed = false;
  const assertUsable = (): void => {
    if (closed) throw new AdapterClosedError("PostgreSQL notify adapter");
  };
  const publish = async (channel: string, payloads: readonly string[]): Promise<void> => {
    assertUsable();
    if (payloads.length > 0) await notifyProvider.publish(channel, payloads);
  };
  const subscribe = async (add: () => () => void): Promise<() => Promise<void>> => {
    assertUsable();
    const remove = add();
    await listener.started;
    return async () => remove();
  };

  return {
    notifyJobScheduled: (typeName, count) =>
      publish(scheduledChannel, [encodeScheduled({ typeName, count })]),
    listenJobScheduled: (typeNames, onScheduled, wantsHint) =>
      subscribe(() => listeners.addScheduled(typeNames, onScheduled, wantsHint)),
    notifyJobSequenceCompleted: (ids) => publish(completedChannel, encodeIds(ids, largestPayloadBytes)),
    listenJobSequenceCompleted: (ids, onCompleted) =>
      subscribe(() => listeners.addCompleted(ids, onCompleted)),
    notifyJobOwnershipLost: (ids) => publish(lostChannel, encodeIds(ids, largestPayloadBytes)),
    listenJobOwnershipLost: (onLost) => subscribe(() => listeners.addLost(onLost)),
    close: async () => {
      closed = true;
      listeners.clear();
      await listener.close();
    },
  };
};
