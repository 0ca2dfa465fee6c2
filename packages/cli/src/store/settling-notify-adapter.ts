import { setTimeout as sleep } from "node:timers/promises";
import type { NotifyAdapter } from "leasehold";

export interface SettlingNotifyAdapter {
  readonly adapter: NotifyAdapter;
  /** Resolves when the hints of earlier calls have been sent, or soon after if that takes too long. */
  settled(): Promise<void>;
}

// Leasehold merges hints for a few milliseconds after one was sent.
const mergeMs = 10;
const longestMs = 1_000;

/**
 * Leasehold sends hints in the background. A command that ends right after its call would close the connection under
 * them, so this one keeps an eye on those that are on their way.
 */
export const createSettlingNotifyAdapter = (inner: NotifyAdapter): SettlingNotifyAdapter => {
  const underWay = new Set<Promise<unknown>>();
  const follow = (sending: Promise<void>): Promise<void> => {
    underWay.add(sending);
    const forget = (): void => void underWay.delete(sending);
    sending.then(forget, forget);
    return sending;
  };
  return {
    adapter: {
      ...inner,
      notifyJobScheduled: (typeName, count) => follow(inner.notifyJobScheduled(typeName, count)),
      notifyJobSequenceCompleted: (ids) => follow(inner.notifyJobSequenceCompleted(ids)),
      notifyJobOwnershipLost: (ids) => follow(inner.notifyJobOwnershipLost(ids)),
    },
    settled: async () => {
      const until = performance.now() + longestMs;
      while (underWay.size > 0 && performance.now() < until) {
        await Promise.race([Promise.allSettled(underWay), sleep(longestMs, undefined, { ref: false })]);
        await sleep(mergeMs);
      }
    },
  };
};
