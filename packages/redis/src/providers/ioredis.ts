import {
  type EventSource,
  type RedisNotifyProvider,
  type RedisSubscription,
  type RedisSubscriptionHandlers,
  RedisUnavailableError,
  requireClient,
} from "../provider.ts";

/** What is used of a subscribing client of the package `ioredis`. */
export interface IoredisSubscriber extends EventSource {
  readonly status: string;
  connect(): Promise<unknown>;
  subscribe(...channels: string[]): Promise<unknown>;
  disconnect(): void;
}

/** What is used of a `Redis` or a `Cluster` of the package `ioredis`, version 5 or later. */
export interface IoredisClient extends EventSource {
  readonly status: string;
  readonly isCluster: boolean;
  eval(script: string, numberOfKeys: number, ...args: string[]): Promise<unknown>;
  duplicate(): IoredisSubscriber;
}

/** A cluster's `duplicate` takes other arguments, so the type above can name none. */
interface SingleClient {
  duplicate(override: object): IoredisSubscriber;
}

const subscriberOptions = {
  // It would subscribe again by itself, but a connection that breaks meanwhile would end in an unhandled rejection.
  autoResubscribe: false,
  retryStrategy: (times: number): number => Math.min(times * 100, 2_000),
  maxRetriesPerRequest: null,
};

const openSubscription = (
  client: IoredisClient,
  { channels, onMessage, onActive, onError }: RedisSubscriptionHandlers,
): RedisSubscription => {
  const subscriber = client.isCluster
    ? client.duplicate()
    : (client as SingleClient).duplicate(subscriberOptions);
  let closed = false;

  const report = (error: unknown): void => {
    if (!closed) onError(error);
  };
  const activate = async (): Promise<void> => {
    try {
      await subscriber.subscribe(...channels);
      if (!closed) onActive();
    } catch (error) {
      report(error);
    }
  };

  subscriber.on("error", report);
  subscriber.on("message", (channel, message) => {
    if (!closed) onMessage(String(channel), String(message));
  });
  subscriber.on("ready", () => void activate());
  // The caller's client may be one that waits for its first command.
  if (subscriber.status === "wait") void subscriber.connect().catch(report);

  return {
    close: async () => {
      closed = true;
      subscriber.disconnect();
    },
  };
};

const downStatuses: ReadonlySet<string> = new Set(["close", "reconnecting", "end"]);

/** Options of the provider for ioredis. */
export interface IoredisNotifyProviderOptions {
  /** A `Redis` or a `Cluster` of the package `ioredis`. Yours: the provider never closes it. */
  readonly client: IoredisClient;
}

/** Works on a `Redis` or a `Cluster` of the package `ioredis`, which the caller closes. */
export const createIoredisNotifyProvider = (options: IoredisNotifyProviderOptions): RedisNotifyProvider => {
  const client = requireClient(
    options,
    "createIoredisNotifyProvider",
    ["on", "off", "eval", "duplicate"],
    "a Redis or a Cluster of ioredis",
  );
  const assertUp = (): void => {
    // The client would keep the command until it is connected again, when the notification is too old to be of use.
    if (downStatuses.has(client.status)) throw new RedisUnavailableError();
  };
  return {
    evaluate: async (script, key, args) => {
      assertUp();
      return client.eval(script, 1, key, ...args);
    },
    openSubscription: (handlers) => openSubscription(client, handlers),
    onError: (listener) => {
      client.on("error", listener);
      return () => client.off("error", listener);
    },
  };
};
