import {
  type EventSource,
  type RedisNotifyProvider,
  type RedisSubscription,
  type RedisSubscriptionHandlers,
  RedisUnavailableError,
  requireClient,
} from "../provider.ts";

/** What is used of a subscribing client of the package `redis`. */
export interface NodeRedisSubscriber extends EventSource {
  connect(): Promise<unknown>;
  subscribe(channels: string[], listener: (message: string, channel: string) => unknown): Promise<unknown>;
  destroy(): void;
}

/** What is used of a client or a cluster of the package `redis`, version 5 or later. */
export interface NodeRedisClient extends EventSource {
  readonly isReady?: boolean;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  duplicate(): NodeRedisSubscriber;
}

const openSubscription = (
  client: NodeRedisClient,
  { channels, onMessage, onActive, onError }: RedisSubscriptionHandlers,
): RedisSubscription => {
  const subscriber = client.duplicate();
  let connected = false;
  let closed = false;

  const report = (error: unknown): void => {
    if (!closed) onError(error);
  };
  const receive = (message: string, channel: string): void => {
    if (!closed) onMessage(channel, message);
  };
  // The client subscribes again by itself, except to what it was subscribing to when the connection broke. Asking
  // for what it has costs nothing.
  const activate = async (): Promise<void> => {
    if (!connected || closed) return;
    try {
      await subscriber.subscribe([...channels], receive);
      if (!closed) onActive();
    } catch (error) {
      report(error);
    }
  };
  const connect = async (): Promise<void> => {
    try {
      await subscriber.connect();
      connected = true;
      await activate();
    } catch (error) {
      report(error);
    }
  };

  subscriber.on("error", report);
  subscriber.on("ready", () => void activate());
  // A cluster reports each node instead.
  subscriber.on("node-ready", () => void activate());
  void connect();

  return {
    close: async () => {
      closed = true;
      try {
        subscriber.destroy();
      } catch {
        // It never got as far as opening a socket.
      }
    },
  };
};

/** Options of the provider for node-redis. */
export interface NodeRedisNotifyProviderOptions {
  /** A client or a cluster of the package `redis`. Yours: the provider neither connects nor closes it. */
  readonly client: NodeRedisClient;
}

/** Works on a client or a cluster of the package `redis`, which the caller connects and closes. */
export const createNodeRedisNotifyProvider = (
  options: NodeRedisNotifyProviderOptions,
): RedisNotifyProvider => {
  const client = requireClient(
    options,
    "createNodeRedisNotifyProvider",
    ["on", "off", "eval", "duplicate"],
    "a client or a cluster of redis",
  );
  const assertReady = (): void => {
    // The client would keep the command until it is connected again, when the notification is too old to be of use.
    if (client.isReady === false) throw new RedisUnavailableError();
  };
  return {
    evaluate: async (script, key, args) => {
      assertReady();
      return client.eval(script, { keys: [key], arguments: [...args] });
    },
    openSubscription: (handlers) => openSubscription(client, handlers),
    onError: (listener) => {
      client.on("error", listener);
      return () => client.off("error", listener);
    },
  };
};
