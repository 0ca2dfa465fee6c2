import type { LeaseholdEventName, LeaseholdEvents } from "../contracts/events.ts";
import { createNotificationBatch, type NotificationBatch } from "../notifications/batch.ts";
import type { NotificationKind } from "../notifications/kinds.ts";
import type { Notifier } from "./notifier.ts";
import { isObserved, type Observe } from "./observe.ts";

/**
 * What a transaction wants the world to know once it has committed: notifications and events. They are buffered while it runs
 * and dropped with it on rollback.
 */
export interface AfterCommit {
  /** Notes that others should hear of this job type, sequence or job. */
  notify(kind: NotificationKind, name: string): void;
  readonly observe: Observe;
  /** Moves everything to an outer scope, which then decides about it. */
  moveTo(outer: AfterCommit): void;
  /** Sends everything, once. */
  publish(): void;
  /** Reports the events alone: notifications cannot be sent because nobody knows when the transaction commits. */
  publishEvents(): void;
  readonly notifications: NotificationBatch;
}

interface BufferedEvent {
  readonly name: LeaseholdEventName;
  readonly data: () => LeaseholdEvents[LeaseholdEventName];
}

/** With `committed` there is nothing to wait for: events are reported at once, and only notifications are gathered. */
export const createAfterCommit = (
  notifier: Notifier,
  observe: Observe,
  { committed = false }: { readonly committed?: boolean } = {},
): AfterCommit => {
  const notifications = createNotificationBatch();
  let events: BufferedEvent[] = [];

  const reportTo = (report: Observe): void => {
    const due = events;
    events = [];
    for (const { name, data } of due) report(name, data as () => never);
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
    moveTo: (outer) => {
      outer.notifications.merge(notifications);
      reportTo(outer.observe);
    },
    publish: () => {
      reportTo(observe);
      notifier.send(notifications);
    },
    publishEvents: () => reportTo(observe),
  };
};
