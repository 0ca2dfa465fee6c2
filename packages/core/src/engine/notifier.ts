import { type Clock, sleep } from "../clock.ts";
import type { NotifyAdapter } from "../contracts/notify-adapter.ts";
import { withDeadline } from "../deadline.ts";
import { NotifyCallTimeoutError } from "../errors.ts";
import { createNotificationBatch, type NotificationBatch } from "../notifications/batch.ts";
import { notificationKinds } from "../notifications/kinds.ts";
import type { Observe } from "./observe.ts";

/** Sends notifications in the background. A caller never waits for an adapter and never fails because of one. */
export interface Notifier {
  send(notifications: NotificationBatch): void;
  /** Resolves when everything has been sent, or has failed. */
  settled(): Promise<void>;
}

/** An adapter that hangs must not keep those who wait for it waiting for ever. */
export const notifyDeadlineMs = 5_000;

// What comes within this time of the last send is merged. The first notification of a burst goes out at once.
const mergeMs = 5;

/** Each adapter at its own pace: none waits for another. */
export const createNotifier = (
  adapters: readonly NotifyAdapter[],
  observe: Observe,
  clock: Clock,
): Notifier => {
  const notifiers = adapters.map((adapter) => createAdapterNotifier(adapter, observe, clock));
  return {
    send: (notifications) => {
      if (!notifications.isEmpty) for (const notifier of notifiers) notifier.send(notifications);
    },
    settled: async () => {
      await Promise.all(notifiers.map((notifier) => notifier.settled()));
    },
  };
};

/**
 * One send is under way at a time, and a short pause follows it. What arrives meanwhile is merged into the next send:
 * a burst of starts costs a handful of messages, and a slow adapter cannot pile up work.
 */
const createAdapterNotifier = (adapter: NotifyAdapter, observe: Observe, clock: Clock): Notifier => {
  let waiting = createNotificationBatch();
  let sending: Promise<void> | undefined;

  const attempt = async (operation: string, send: () => Promise<void>): Promise<void> => {
    try {
      const tooLate = () => new NotifyCallTimeoutError(operation, notifyDeadlineMs);
      await withDeadline(send(), notifyDeadlineMs, tooLate, clock);
    } catch (error) {
      observe("notifyAdapterError", () => ({ operation, error }));
    }
  };

  const sendWaiting = async (): Promise<void> => {
    const batch = waiting;
    waiting = createNotificationBatch();
    const attempts: Promise<void>[] = [];
    for (const [kind, names] of batch.byKind) {
      const { notify, sends } = notificationKinds[kind];
      for (const send of sends(adapter, names)) attempts.push(attempt(notify, send));
    }
    await Promise.all(attempts);
  };

  const sendAll = async (): Promise<void> => {
    while (!waiting.isEmpty) {
      await sendWaiting();
      await sleep(clock, mergeMs);
    }
    sending = undefined;
  };

  return {
    send: (notifications) => {
      waiting.merge(notifications);
      sending ??= sendAll();
    },
    settled: () => sending ?? Promise.resolve(),
  };
};
