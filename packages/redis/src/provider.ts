import { InvalidOptionError, LeaseholdError, requireOptions } from "leasehold/adapter";

/** There is no connection to Redis at the moment. The notification is lost; polling finds the job. */
export class RedisUnavailableError extends LeaseholdError {
  constructor() {
    super("RedisUnavailable", "There is no connection to Redis at the moment.");
  }
}

/** What a subscription reports. */
export interface RedisSubscriptionHandlers {
  readonly channels: readonly string[];
  readonly onMessage: (channel: string, message: string) => void;
  /** The channels are subscribed: at first, and again after each reconnect. */
  readonly onActive: () => void;
  readonly onError: (error: unknown) => void;
}

/** A subscription to channels. */
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

/** The client of the options of a provider. Throws if it lacks a method that the provider uses. */
export const requireClient = <TClient extends object>(
  options: { readonly client: TClient },
  functionName: string,
  methods: readonly (keyof TClient & string)[],
  what: string,
): TClient => {
  // A client in place of the options is the likely mistake, so this check comes before that of the names.
  const given = (options as { readonly client?: TClient } | null | undefined)?.client;
  if (!methods.every((method) => typeof given?.[method] === "function")) {
    throw new InvalidOptionError("client", `must be ${what}: ${functionName}({ client })`, typeof given);
  }
  requireOptions(options, functionName, { client: true });
  return given!;
};
