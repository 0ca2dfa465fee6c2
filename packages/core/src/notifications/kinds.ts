import type { Dispose, NotifyAdapter } from "../contracts/notify-adapter.ts";

export type NotificationKind = "jobScheduled" | "sequenceFinished" | "ownershipLost";

interface NotificationRules {
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

/** Everything in which the kinds of notification differ. */
export const notificationKinds: Readonly<Record<NotificationKind, NotificationRules>> = {
  /** Names job types, each as often as there are jobs. */
  jobScheduled: {
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
    notify: "notifyJobSequenceCompleted",
    listen: "listenJobSequenceCompleted",
    sends: (adapter, ids) => [() => adapter.notifyJobSequenceCompleted([...ids.keys()])],
    subscribe: (adapter, ids, onFinished) => adapter.listenJobSequenceCompleted(ids ?? [], onFinished),
  },
  /** Names jobs that their holders have lost. */
  ownershipLost: {
    notify: "notifyJobOwnershipLost",
    listen: "listenJobOwnershipLost",
    sends: (adapter, ids) => [() => adapter.notifyJobOwnershipLost([...ids.keys()])],
    subscribe: (adapter, _ids, onLost) => adapter.listenJobOwnershipLost(onLost),
  },
};
