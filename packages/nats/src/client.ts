import { LeaseholdError } from "leasehold/adapter";

/** What is used of a message. */
export interface NatsMessage {
  readonly data: Uint8Array;
}

/** The part of a subscription that is used here. */
export interface NatsSubscription {
  unsubscribe(): void;
}

/** What is used of a connection, of `@nats-io/transport-node` and its kind, or of the older package `nats`. */
export interface NatsClient {
  publish(subject: string, payload: string): void;
  subscribe(
    subject: string,
    options: { callback: (error: Error | null, message: NatsMessage) => void },
  ): NatsSubscription;
  flush(): Promise<void>;
  /** Reports lost and regained connections. */
  status(): AsyncIterable<{ readonly type: string }>;
  closed(): Promise<void | Error>;
  isClosed(): boolean;
}

/** The part of an entry of a key-value bucket that is used here. */
export interface NatsKvEntry {
  readonly revision: number;
  readonly operation: string;
  string(): string;
}

/** What is used of a bucket, of `@nats-io/kv` or of the older package `nats`. */
export interface NatsKv {
  create(key: string, value: string): Promise<number>;
  update(key: string, value: string, revision: number): Promise<number>;
  get(key: string): Promise<NatsKvEntry | null>;
  status(): Promise<{ readonly ttl: number }>;
}

/** There is no connection to NATS. The notification is lost; polling finds the job. */
export class NatsUnavailableError extends LeaseholdError {
  constructor(message = "There is no connection to NATS at the moment.", options?: ErrorOptions) {
    super("NatsUnavailable", message, options);
  }
}
