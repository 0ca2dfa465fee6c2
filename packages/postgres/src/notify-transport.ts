import type { NotifyTransport } from "leasehold/adapter";
import { createHintCounting } from "./hint-locks.ts";
import { type Listener, openListener } from "./listener.ts";
import type { PgNotifyProvider } from "./notify-provider.ts";

export interface PgTransportOptions {
  readonly notifyProvider: PgNotifyProvider;
  readonly channelPrefix: string;
  readonly heartbeatMs: number;
  readonly onError: (error: unknown) => void;
}

// PostgreSQL refuses payloads of 8,000 bytes and more.
const largestMessageBytes = 7_900;

/** LISTEN/NOTIFY. PostgreSQL tells every session that listens; advisory locks decide which of them look. */
export const createPgTransport = (options: PgTransportOptions): NotifyTransport => {
  const { notifyProvider, channelPrefix, heartbeatMs, onError } = options;
  let listener: Listener | undefined;

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
