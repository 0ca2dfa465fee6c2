// A notify adapter of your own: between the threads of one process, over a BroadcastChannel.
/* oxlint-disable unicorn/require-post-message-target-origin -- that is for windows */
// #region transport
import {
  createNotifyAdapter,
  type NotifyAdapter,
  type NotifyTransport,
  type NotifyTransportHandlers,
} from "leasehold/adapter";

const createBroadcastTransport = (prefix: string): NotifyTransport => {
  const bus = new BroadcastChannel(prefix);
  let handlers: NotifyTransportHandlers | undefined;

  return {
    name: "broadcast notify adapter",
    channelFor: ({ short }) => `${prefix}:${short}`,
    publish: async (channel, messages) => {
      for (const message of messages) {
        bus.postMessage({ channel, message });
        // A BroadcastChannel does not hear what it sends itself.
        handlers?.onMessage(channel, message);
      }
    },
    subscribe: async (_channels, given) => {
      handlers = given;
      bus.addEventListener("message", (event) => {
        const { channel, message } = (event as MessageEvent).data as Record<"channel" | "message", string>;
        handlers?.onMessage(channel, message);
      });
    },
    close: async () => {
      handlers = undefined;
      bus.close();
    },
  };
};

export const createBroadcastNotifyAdapter = (prefix = "leasehold"): Promise<NotifyAdapter> =>
  createNotifyAdapter(createBroadcastTransport(prefix));
// #endregion

// #region suite
import { notifyTransportConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";

notifyTransportConformance(
  { describe, it, afterAll },
  {
    countsHints: false,
    create: async () => {
      const prefix = crypto.randomUUID();
      return {
        transport: createBroadcastTransport(prefix),
        peer: createBroadcastTransport(prefix),
        destroy: async () => {},
      };
    },
  },
);
// #endregion
