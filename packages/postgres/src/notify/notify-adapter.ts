import {
  createNotifyAdapter,
  InvalidOptionError,
  type KeptSubscription,
  type NotifyAdapter,
  type NotifyTransport,
  readOnError,
  requireOptions,
} from "leasehold/adapter";
import { quoteIdentifier } from "../database/sql.ts";
import { createHintCounting } from "./hint-locks.ts";
import { openListener } from "./listener.ts";
import type { PgNotifyProvider } from "./provider.ts";

export interface PgTransportOptions {
  readonly notifyProvider: PgNotifyProvider;
  readonly channelPrefix: string;
  readonly heartbeatMs: number;
  readonly onError: (error: unknown) => void;
}

// PostgreSQL refuses payloads of 8,000 bytes and more.
const largestMessageBytes = 7_900;

/** LISTEN/NOTIFY. PostgreSQL notifies every listening session; advisory locks decide which of them claim. */
export const createPgTransport = (options: PgTransportOptions): NotifyTransport => {
  const { notifyProvider, channelPrefix, heartbeatMs, onError } = options;
  let listener: KeptSubscription | undefined;

  return {
    name: "PostgreSQL notify adapter",
    channelFor: ({ long }) => `${channelPrefix}_${long}`,
    largestMessageBytes,
    counting: createHintCounting(notifyProvider),
    publish: (channel, messages) => notifyProvider.publish(channel, messages),
    subscribe: async (channels, { onMessage, onGap }) => {
      listener = openListener({
        provider: notifyProvider,
        channels,
        heartbeatMs,
        onMessage,
        onListening: onGap,
        onError,
      });
      await listener.started;
    },
    close: async () => {
      await listener?.close();
    },
  };
};

/** Options of `createPgNotifyAdapter`. */
export interface PgNotifyAdapterOptions {
  readonly notifyProvider: PgNotifyProvider;
  /** The prefix of all channels. Adapters with the same prefix in one database notify each other. Default: "leasehold". */
  readonly channelPrefix?: string | undefined;
  /** How often the listening connection is checked. Default: 10,000. */
  readonly heartbeatMs?: number | undefined;
  /** Called with lost connections and with errors that listeners throw. Default: they are ignored, and workers poll. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const checkHeartbeat = (heartbeatMs: unknown): number => {
  if (typeof heartbeatMs !== "number" || !(heartbeatMs >= 10 && heartbeatMs <= 2 ** 31 - 1)) {
    throw new InvalidOptionError("heartbeatMs", "must be a number of milliseconds, at least 10", heartbeatMs);
  }
  return heartbeatMs;
};

/**
 * Carries notifications by LISTEN/NOTIFY. A notification wakes as many idle workers as there are jobs, or as many in each
 * process if the provider cannot take locks. After a lost connection the adapter listens again and makes every worker claim once.
 *
 * Resolves once it listens, or after two seconds without PostgreSQL; then it listens as soon as the server can be reached. Only
 * an invalid option rejects.
 */
export const createPgNotifyAdapter = async (options: PgNotifyAdapterOptions): Promise<NotifyAdapter> => {
  const {
    notifyProvider,
    channelPrefix = "leasehold",
    heartbeatMs = 10_000,
    onError,
  } = requireOptions<keyof PgNotifyAdapterOptions>(options, "createPgNotifyAdapter", {
    notifyProvider: true,
    channelPrefix: true,
    heartbeatMs: true,
    onError: true,
  }) as PgNotifyAdapterOptions;
  if (typeof notifyProvider?.subscribe !== "function") {
    throw new InvalidOptionError(
      "notifyProvider",
      "must be a provider, such as createPgPoolNotifyProvider({ pool }) returns",
      typeof notifyProvider,
    );
  }
  quoteIdentifier(channelPrefix, "channelPrefix");
  const checked = {
    notifyProvider,
    channelPrefix,
    heartbeatMs: checkHeartbeat(heartbeatMs),
    onError: readOnError(onError),
  };
  return createNotifyAdapter(createPgTransport(checked), { onError: checked.onError });
};
