import type { LeaseholdEventName, LeaseholdEvents } from "../contracts/events.ts";
import { createNotificationBatch, type NotificationBatch } from "../notifications/batch.ts";
import type { NotificationKind } from "../notifications/kinds.ts";
import type { Notifier } from "./notifier.ts";
import type { Counted, Lane, Tally } from "./reporter/tally.ts";
import { isObserved, type Observe } from "./observe.ts";

/**
 * What a transaction wants the world to know once it has committed: notifications, events, and what the statistics count. They
 * are buffered while it runs and dropped with it on rollback.
 */
export interface AfterCommit {
  /** Notes that others should hear of this job type, sequence or job. */
  notify(kind: NotificationKind, name: string): void;
  readonly observe: Observe;
  /** Adds one to what the statistics count. */
  count(lane: Lane, counted: Counted): void;
  /** Moves everything to an outer scope, which then decides about it. */
  moveTo(outer: AfterCommit): void;
  /** Sends everything, once. */
  publish(): void;
  /** Reports and counts alone: notifications cannot be sent because nobody knows when the transaction commits. */
  publishEvents(): void;
  readonly notifications: NotificationBatch;
}

interface BufferedEvent {
  readonly name: LeaseholdEventName;
  readonly data: () => LeaseholdEvents[LeaseholdEventName];
}

/** With `committed` there is nothing to wait for: events are reported at once, and only notifications are gathered. */
export const createAfterCommit = (
  {
    notifier,
    observe,
    tally,
  }: { readonly notifier: Notifier; readonly observe: Observe; readonly tally: Tally },
  { committed = false }: { readonly committed?: boolean } = {},
): AfterCommit => {
  const notifications = createNotificationBatch();
  let events: BufferedEvent[] = [];
  let counts: { readonly lane: Lane; readonly counted: Counted }[] = [];

  const reportTo = (report: Observe, count: AfterCommit["count"]): void => {
    const due = events;
    events = [];
    for (const { name, data } of due) report(name, data as () => never);
    const counted = counts;
    counts = [];
    for (const { lane, counted: what } of counted) count(lane, what);
  };

  return {
    notify: notifications.add,
    notifications,
    observe:
      committed || !isObserved(observe)
        ? observe
        : (name, data) => {
            events.push({ name, data });
          },
    count:
      committed || !tally.isOn
        ? tally.add
        : (lane, counted) => {
            counts.push({ lane, counted });
          },
    moveTo: (outer) => {
      outer.notifications.merge(notifications);
      reportTo(outer.observe, outer.count);
    },
    publish: () => {
      reportTo(observe, tally.add);
      notifier.send(notifications);
    },
    publishEvents: () => reportTo(observe, tally.add),
  };
};
