import { LeaseholdError } from "leasehold/adapter";

/** There is no connection to Redis at the moment. The notification is lost; polling finds the job. */
export class RedisUnavailableError extends LeaseholdError {
  constructor() {
    super("RedisUnavailable", "There is no connection to Redis at the moment.");
  }
}

export interface RedisSubscriptionHandlers {
  readonly channels: readonly string[];
  readonly onMessage: (channel: string, message: string) => void;
  /** The channels are subscribed: at first, and again after each reconnect. */
  readonly onActive: () => void;
  readonly onError: (error: unknown) => void;
}

export interface RedisSubscription {
  /** Ends the connection. Nothing is called afterwards. */
  close(): Promise<void>;
}

/** What the adapter needs of a Redis client: a connection for commands, and another for the subscription. */
export interface RedisNotifyProvider {
  /** EVAL with one key. Rejects at once while the connection is known to be down. */
  evaluate(script: string, key: string, args: readonly string[]): Promise<unknown>;
  /** Opens another connection in the background and subscribes whenever it is up. Never throws. */
  openSubscription(handlers: RedisSubscriptionHandlers): RedisSubscription;
  /** Calls back with errors of the connection for commands, so that none of them ends the process. */
  onError(listener: (error: unknown) => void): () => void;
}

/** The part of Node's EventEmitter that both clients have. */
export interface EventSource {
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
}
