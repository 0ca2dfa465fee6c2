import { type Clock, sleep } from "../clock.ts";
import type { NotifyAdapter } from "../contracts/notify-adapter.ts";
import { withDeadline } from "../deadline.ts";
import { NotifyCallTimeoutError } from "../errors.ts";
import type { Observe } from "./observe.ts";

export interface Hints {
  readonly scheduled: ReadonlyMap<string, number>;
  readonly finished: readonly string[];
  readonly lost: readonly string[];
}

/** Sends hints in the background. A caller never waits for the transport and never fails because of it. */
export interface Notifier {
  send(hints: Hints): void;
  /** Resolves when nothing is on its way any more. */
  settled(): Promise<void>;
}

/** A transport that hangs must not keep those who wait for it waiting for ever. */
export const notifyDeadlineMs = 5_000;

// Messages are merged for this long after one was sent. The first of a burst goes at once.
const quietMs = 5;

/** Each channel at its own pace: none waits for another. */
export const createNotifier = (
  channels: readonly NotifyAdapter[],
  observe: Observe,
  clock: Clock,
): Notifier => {
  const notifiers = channels.map((adapter) => createChannelNotifier(adapter, observe, clock));
  return {
    send: (hints) => {
      for (const notifier of notifiers) notifier.send(hints);
    },
    settled: async () => {
      await Promise.all(notifiers.map((notifier) => notifier.settled()));
    },
  };
};

/**
 * One send is under way at a time, and after it comes a short pause; what arrives meanwhile is merged into the next, so
 * that a burst of starts costs a handful of messages and a slow transport cannot pile up work.
 */
const createChannelNotifier = (adapter: NotifyAdapter, observe: Observe, clock: Clock): Notifier => {
  let scheduled = new Map<string, number>();
  let finished: string[] = [];
  let lost: string[] = [];
  let sending: Promise<void> | undefined;

  const attempt = async (operation: string, send: () => Promise<void>): Promise<void> => {
    try {
      const tooLate = () => new NotifyCallTimeoutError(operation, notifyDeadlineMs);
      await withDeadline(send(), notifyDeadlineMs, tooLate, clock);
    } catch (error) {
      observe("notifyAdapterError", () => ({ operation, error }));
    }
  };

  const isEmpty = (): boolean => scheduled.size + finished.length + lost.length === 0;

  const sendAll = async (): Promise<void> => {
    while (!isEmpty()) {
      const batch = { scheduled, finished, lost };
      scheduled = new Map();
      finished = [];
      lost = [];
      const sends = [...batch.scheduled].map(([typeName, count]) =>
        attempt("notifyJobScheduled", () => adapter.notifyJobScheduled(typeName, count)),
      );
      if (batch.finished.length > 0) {
        sends.push(
          attempt("notifyJobSequenceCompleted", () => adapter.notifyJobSequenceCompleted(batch.finished)),
        );
      }
      if (batch.lost.length > 0) {
        sends.push(attempt("notifyJobOwnershipLost", () => adapter.notifyJobOwnershipLost(batch.lost)));
      }
      await Promise.all(sends);
      await sleep(clock, quietMs);
    }
    sending = undefined;
  };

  return {
    send: (hints) => {
      for (const [typeName, count] of hints.scheduled) {
        scheduled.set(typeName, (scheduled.get(typeName) ?? 0) + count);
      }
      for (const sequenceId of hints.finished) finished.push(sequenceId);
      for (const jobId of hints.lost) lost.push(jobId);
      if (!sending && !isEmpty()) sending = sendAll();
    },
    settled: () => sending ?? Promise.resolve(),
  };
};
