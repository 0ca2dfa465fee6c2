import { randomUUID } from "node:crypto";
import type { RedisCommands } from "./commands.ts";
import type { RedisNotifyProvider, RedisSubscription } from "./provider.ts";

export interface WatchedSubscriptionOptions {
  readonly provider: RedisNotifyProvider;
  readonly commands: RedisCommands;
  readonly prefix: string;
  readonly channels: readonly string[];
  readonly heartbeatMs: number;
  readonly onMessage: (channel: string, message: string) => void;
  /** The subscription is active (again); messages may have been missed before. */
  readonly onActive: () => void;
  readonly onError: (error: unknown) => void;
}

export interface WatchedSubscription {
  /** Resolves when it is active for the first time. */
  readonly active: Promise<void>;
  close(): Promise<void>;
}

/**
 * A subscription only receives, so a quiet broker looks like a dead connection. It therefore sends itself a message
 * every heartbeat, over the other connection, on a channel of its own:
 *
 *   idle ──publish──▶ sending ──published──▶ sent ──heard──▶ idle
 *                        └─failed─▶ idle      └─still unheard at the next two beats─▶ a new connection
 *
 * When it is heard again after a silence, messages may have been missed.
 */
export const openWatchedSubscription = (options: WatchedSubscriptionOptions): WatchedSubscription => {
  const { provider, commands, prefix, heartbeatMs, onMessage, onActive, onError } = options;
  const echoChannel = `${prefix}:echo:${randomUUID()}`;
  const channels = [...options.channels, echoChannel];
  let state: "idle" | "sending" | "sent" = "idle";
  let unheard = 0;
  let silent = false;
  let closed = false;

  let becomeActive: () => void = () => undefined;
  const active = new Promise<void>((resolve) => {
    becomeActive = resolve;
  });

  const open = (): RedisSubscription =>
    provider.openSubscription({
      channels,
      onMessage: (channel, message) => {
        if (channel !== echoChannel) return onMessage(channel, message);
        state = "idle";
        unheard = 0;
        if (silent) onActive();
        silent = false;
      },
      onActive: () => {
        // What was sent before could not be heard.
        if (state === "sent") state = "idle";
        unheard = 0;
        silent = false;
        becomeActive();
        onActive();
      },
      onError,
    });

  const replace = (): void => {
    unheard = 0;
    current.close().catch(onError);
    current = open();
  };

  const send = async (): Promise<void> => {
    state = "sending";
    try {
      await commands.publish(echoChannel, "");
      // The echo may arrive before the reply.
      if (state === "sending") state = "sent";
    } catch (error) {
      state = "idle";
      if (!silent && !closed) onError(error);
      silent = true;
    }
  };

  const beat = (): void => {
    if (state === "sending") return;
    if (state === "sent") {
      silent = true;
      unheard += 1;
      if (unheard >= 2) replace();
    }
    void send();
  };

  let current = open();
  const timer = setInterval(beat, heartbeatMs);
  timer.unref();

  return {
    active,
    close: async () => {
      closed = true;
      clearInterval(timer);
      await current.close();
    },
  };
};
