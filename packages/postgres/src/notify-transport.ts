import type { NotifyTransport } from "leasehold/adapter";
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

/** LISTEN/NOTIFY. PostgreSQL tells every session that listens, so there is no counting across processes. */
export const createPgTransport = (options: PgTransportOptions): NotifyTransport => {
  const { notifyProvider, channelPrefix, heartbeatMs, onError } = options;
  let listener: Listener | undefined;

  return {
    name: "PostgreSQL notify adapter",
    channelFor: ({ long }) => `${channelPrefix}_${long}`,
    largestMessageBytes,
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
