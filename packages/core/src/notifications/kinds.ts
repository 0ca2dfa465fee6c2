import type { Dispose, NotifyAdapter } from "../contracts/notify-adapter.ts";
import type { ChannelName } from "../contracts/notify-transport.ts";

export type NotificationKind = "jobScheduled" | "sequenceFinished" | "ownershipLost" | "queueOpened";

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
  ownershipLost: {
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
    notify: "notifyQueueOpened",
    listen: "listenQueueOpened",
    sends: (adapter, queues) => [() => adapter.notifyQueueOpened([...queues.keys()])],
    subscribe: (adapter, queues, onOpened) => adapter.listenQueueOpened(queues ?? [], onOpened),
  },
};

export const allNotificationKinds: readonly NotificationKind[] = Object.keys(
  notificationKinds,
) as NotificationKind[];
