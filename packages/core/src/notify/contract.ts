/** Ends a subscription. Idempotent. */
export type Dispose = () => Promise<void>;

/**
 * Carries notifications between processes. A notification is only a hint: it may be lost, repeated, late or forged, and
 * polling alone keeps everything correct. Core sends it only after the commit it is about.
 *
 * To use another broker, write a `NotifyTransport` and pass it to `createNotifyAdapter`.
 *
 * A `listen…` promise resolves once the subscription is active; its callback is called synchronously on arrival and
 * must not throw. A rejected `notify…` is reported and otherwise ignored.
 */
export interface NotifyAdapter {
  /**
   * True if the adapter also decides who is notified within this process. Otherwise core notifies the workers of this
   * process itself, at once. Default: false.
   */
  readonly coversInProcess?: boolean;

  /** `count` jobs of a type became runnable: about that many idle workers should look. */
  notifyJobScheduled(typeName: string, count: number): Promise<void>;

  /**
   * Calls back for at most `count` listeners of each notification, as far as the transport can count. A listener whose
   * `wantsHint` answers false takes no part: a busy worker must not use up the notification that an idle one needs.
   * `typeNames` null listens for every type.
   */
  listenJobScheduled(
    typeNames: readonly string[] | null,
    onScheduled: (typeName: string) => void,
    wantsHint?: () => boolean,
  ): Promise<Dispose>;

  /** The sequences reached their end, completed or failed. */
  notifyJobSequenceCompleted(sequenceIds: readonly string[]): Promise<void>;

  /** Every listener of the id is called. */
  listenJobSequenceCompleted(
    sequenceIds: readonly string[],
    onCompleted: (sequenceId: string) => void,
  ): Promise<Dispose>;

  /**
   * Whether a listener is known to wait for the end of this sequence, in this process or in another one. A job that no process
   * waits for may be deleted when it completes. Default: only listeners of this process are known.
   */
  isJobSequenceAwaited?(sequenceId: string): boolean;

  /** Running jobs were completed, cancelled, deleted or reaped by someone other than their holder. */
  notifyJobOwnershipLost(jobIds: readonly string[]): Promise<void>;

  /** Called for every job; a worker ignores jobs that it does not hold. */
  listenJobOwnershipLost(onLost: (jobId: string) => void): Promise<Dispose>;

  /** Throttled jobs of these queues may run now: a pause has ended, or a limit was raised. */
  notifyQueueResumed(queues: readonly string[]): Promise<void>;

  /** Every listener of the queue is called. */
  listenQueueResumed(queues: readonly string[], onOpened: (queue: string) => void): Promise<Dispose>;

  /** Ends every subscription. Idempotent. */
  close(): Promise<void>;
}

/** The two spellings of a channel's name. A transport uses one of them, with its own prefix and separator. */
export interface ChannelName {
  readonly short: string;
  readonly long: string;
}

/** What a transport calls when something arrives or the connection changes. */
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

/** For transports that can count how many workers a message is to wake. */
export interface HintCounting {
  /**
   * Publishes the message that `encode` makes, with a counter of `count`. The counter exists before the message is
   * published, and expires. `encode()` makes a message without a counter, for when there can be none.
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

  /** The full name of a channel. Wire format: processes of different versions share it, so it never changes. */
  channelFor(name: ChannelName): string;

  /** The longest message, in UTF-8, that it carries. Default and maximum: 32,768. */
  readonly largestMessageBytes?: number;

  /**
   * Sends to all current subscribers of the channel, this transport included. Resolves when the messages have been
   * handed over; rejects soon when they cannot be.
   */
  publish(channel: string, messages: readonly string[]): Promise<void>;

  /**
   * Called once, before anything else. Keeps the subscription alive through lost connections until `close`. Resolves
   * when it is active: it receives what is published afterwards. Without a broker it resolves after about two seconds,
   * and the subscription becomes active, with a call of `onGap`, as soon as the broker can be reached.
   */
  subscribe(channels: readonly string[], handlers: NotifyTransportHandlers): Promise<void>;

  /** Ends the subscription and closes what the transport opened. Called once. */
  close(): Promise<void>;

  /**
   * With it, a notification of n jobs wakes at most n idle workers among all processes. Without it, n in each process.
   */
  readonly counting?: HintCounting | undefined;
}

export type NotificationKind = "jobScheduled" | "jobSequenceCompleted" | "jobOwnershipLost" | "queueResumed";

interface NotificationRules {
  /** Wire format: processes of different versions share these channels, so the names never change. */
  readonly channel: ChannelName;
  /** Whether a name comes with a count, and at most that many subscribers are called. Otherwise all are. */
  readonly isCounted: boolean;
  /** What a subscriber is called with after a gap: one of its names, each of them, or nothing. */
  readonly afterGap: "one name" | "each name" | "nothing";
}

/** All differences between the kinds. A kind is the name of its two `NotifyAdapter` methods without the verb. */
export const kinds: Readonly<Record<NotificationKind, NotificationRules>> = {
  /** Names job types, each with the number of jobs. */
  jobScheduled: {
    channel: { short: "sched", long: "scheduled" },
    isCounted: true,
    afterGap: "one name",
  },
  /** Names sequences, completed or failed. */
  jobSequenceCompleted: {
    channel: { short: "seqc", long: "completed" },
    isCounted: false,
    afterGap: "each name",
  },
  /** Names jobs whose workers have lost them. After a gap, the next heartbeat finds out. */
  jobOwnershipLost: {
    channel: { short: "owls", long: "lost" },
    isCounted: false,
    afterGap: "nothing",
  },
  /** Names queues whose throttled jobs may run now. After a gap, `jobScheduled` makes workers claim anyway. */
  queueResumed: {
    channel: { short: "qopn", long: "opened" },
    isCounted: false,
    afterGap: "nothing",
  },
};

/** Names sequences that a process awaits. Adapters over a transport use it among themselves. */
export const awaitedChannel: ChannelName = { short: "seqw", long: "awaited" };

export const allNotificationKinds: readonly NotificationKind[] = Object.keys(kinds) as NotificationKind[];
