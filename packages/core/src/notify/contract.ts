/** Ends a subscription. Idempotent. */
export type Dispose = () => Promise<void>;

/**
 * Carries notifications between processes. A notification is only a hint: it may be lost, repeated, late or forged, and
 * everything stays correct by polling alone. Core sends it only after the commit it is about.
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

  /** Running jobs were completed, cancelled, deleted or reaped by someone other than their holder. */
  notifyJobOwnershipLost(jobIds: readonly string[]): Promise<void>;

  /** Called for every job; a worker knows which ones it holds. */
  listenJobOwnershipLost(onLost: (jobId: string) => void): Promise<Dispose>;

  /** Jobs of these queues that were held back may run now: a pause has ended, or a limit was raised. */
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

export type NotificationKind = "jobScheduled" | "sequenceFinished" | "jobOwnershipLost" | "queueOpened";

interface NotificationRules {
  /** Released names never change: processes of two versions hear each other. */
  readonly channel: ChannelName;
  /** Whether a name comes with a count, and that many listeners hear it. Otherwise all of them do. */
  readonly isCounted: boolean;
  /** What those hear who may have missed something: one of their names, each of them, or nothing. */
  readonly afterGap: "one name" | "each name" | "nothing";
  /** The methods of a notify adapter that send and hear it. */
  readonly notify: keyof NotifyAdapter;
  readonly listen: keyof NotifyAdapter;
  /** The calls that send these names; each may fail on its own. */
  readonly sends: (adapter: NotifyAdapter, names: ReadonlyMap<string, number>) => (() => Promise<void>)[];
  readonly subscribe: (
    adapter: NotifyAdapter,
    names: readonly string[] | null,
    onName: (name: string) => void,
    wantsHint?: () => boolean,
  ) => Promise<Dispose>;
}

/**
 * Everything in which the kinds of notification differ. Another kind is one more entry here, and its two methods in
 * the contract and in `adapter-methods.ts`. No transport has to know of it.
 */
export const notificationKinds: Readonly<Record<NotificationKind, NotificationRules>> = {
  /** Names job types, each as often as there are jobs. */
  jobScheduled: {
    channel: { short: "sched", long: "scheduled" },
    isCounted: true,
    afterGap: "one name",
    notify: "notifyJobScheduled",
    listen: "listenJobScheduled",
    sends: (adapter, types) =>
      Array.from(
        types,
        ([typeName, count]) =>
          () =>
            adapter.notifyJobScheduled(typeName, count),
      ),
    subscribe: (adapter, typeNames, onScheduled, wantsHint) =>
      adapter.listenJobScheduled(typeNames, onScheduled, wantsHint),
  },
  /** Names sequences, completed or failed. */
  sequenceFinished: {
    channel: { short: "seqc", long: "completed" },
    isCounted: false,
    afterGap: "each name",
    notify: "notifyJobSequenceCompleted",
    listen: "listenJobSequenceCompleted",
    sends: (adapter, ids) => [() => adapter.notifyJobSequenceCompleted([...ids.keys()])],
    subscribe: (adapter, ids, onFinished) => adapter.listenJobSequenceCompleted(ids ?? [], onFinished),
  },
  /** Names jobs that their holders have lost. */
  jobOwnershipLost: {
    channel: { short: "owls", long: "lost" },
    isCounted: false,
    // The next heartbeat finds out.
    afterGap: "nothing",
    notify: "notifyJobOwnershipLost",
    listen: "listenJobOwnershipLost",
    sends: (adapter, ids) => [() => adapter.notifyJobOwnershipLost([...ids.keys()])],
    subscribe: (adapter, _ids, onLost) => adapter.listenJobOwnershipLost(onLost),
  },
  /** Names queues in which jobs that were held back may run now: a pause has ended, or a limit was raised. */
  queueOpened: {
    channel: { short: "qopn", long: "opened" },
    isCounted: false,
    // Whoever looks for jobs after a gap looks for these, too.
    afterGap: "nothing",
    notify: "notifyQueueResumed",
    listen: "listenQueueResumed",
    sends: (adapter, queues) => [() => adapter.notifyQueueResumed([...queues.keys()])],
    subscribe: (adapter, queues, onOpened) => adapter.listenQueueResumed(queues ?? [], onOpened),
  },
};

export const allNotificationKinds: readonly NotificationKind[] = Object.keys(
  notificationKinds,
) as NotificationKind[];
