/** The two spellings of a channel's name. A transport uses one of them, with its own prefix and separator. */
export interface ChannelName {
  readonly short: string;
  readonly long: string;
}

export interface NotifyTransportHandlers {
  /** Never throws. */
  readonly onMessage: (channel: string, message: string) => void;
  /** The subscription is active again, or later than it should have been: messages may have been missed. */
  readonly onGap: () => void;
}

/** What a message carries of its counter. */
export interface HintCounter {
  /** Up to 64 letters, digits and hyphens. */
  readonly hintId: string;
  /** The counter's revision when the message was sent, where counters have revisions. */
  readonly revision?: number;
}

export interface HintCounting {
  /**
   * Publishes the message that `encode` makes, with a counter of `count`. The counter exists before anyone hears of
   * the message, and expires. `encode()` is a message without a counter, for when there can be none.
   */
  publish(channel: string, count: number, encode: (counter?: HintCounter) => string): Promise<void>;
  /** Takes up to `wanted` from the counter, which began at `count`, atomically. Resolves with how many it took. */
  take(counter: HintCounter, count: number, wanted: number): Promise<number>;
}

/**
 * Carries short text messages to every process that subscribes to a channel: all that `createNotifyAdapter` needs of
 * a broker. Messages may be lost, doubled, late or out of order, and so a transport keeps none for later: one that
 * cannot be sent now is rejected.
 */
export interface NotifyTransport {
  /** For error messages, such as "Redis notify adapter". */
  readonly name: string;

  /** The full name of a channel. Released names never change: processes of two versions hear each other. */
  channelFor(name: ChannelName): string;

  /** The longest message, in UTF-8, that it carries. Default and maximum: 32,768. */
  readonly largestMessageBytes?: number;

  /**
   * Sends to everyone who subscribes to the channel now, this transport included. Resolves when the messages have
   * been handed over; rejects soon when they cannot be.
   */
  publish(channel: string, messages: readonly string[]): Promise<void>;

  /**
   * Called once, before anything else. Keeps the subscription alive through lost connections until `close`. Resolves
   * when it is active: what is published afterwards is heard. When there is no broker it resolves after about two
   * seconds, and the subscription becomes active, with a call of `onGap`, as soon as the broker can be reached.
   */
  subscribe(channels: readonly string[], handlers: NotifyTransportHandlers): Promise<void>;

  /** Ends the subscription and whatever the transport opened itself. Called once. */
  close(): Promise<void>;

  /**
   * With it, as many listeners among all processes look for jobs as there are jobs. Without it, as many in each
   * process.
   */
  readonly counting?: HintCounting | undefined;
}
