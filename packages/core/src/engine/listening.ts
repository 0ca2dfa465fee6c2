import type { Runtime } from "../clock.ts";
import type { Dispose, NotifyAdapter } from "../contracts/notify-adapter.ts";
import { withDeadline } from "../deadline.ts";
import { NotifyCallTimeoutError } from "../errors.ts";
import { notificationKinds, type NotificationKind } from "../notifications/kinds.ts";
import { notifyDeadlineMs } from "./notifier.ts";
import type { Observe } from "./observe.ts";

/**
 * Subscriptions to the notifications of every adapter. None rejects, and none takes for ever: a subscription that
 * fails is reported and tried again in the background, and polling does the work meanwhile.
 */
export interface Listening {
  /** Calls back with every name of this kind, or with those given; `wantsHint` as in the contract. */
  listen(
    kind: NotificationKind,
    names: readonly string[] | null,
    onName: (name: string) => void,
    wantsHint?: () => boolean,
  ): Promise<Dispose>;
}

const firstRetryMs = 1_000;
const longestRetryMs = 30_000;

export const createListening = (
  adapters: readonly NotifyAdapter[],
  observe: Observe,
  { clock, random }: Runtime,
): Listening => {
  const attempt = async <T>(operation: string, call: () => Promise<T>): Promise<T | undefined> => {
    try {
      const tooLate = () => new NotifyCallTimeoutError(operation, notifyDeadlineMs);
      return await withDeadline(call(), notifyDeadlineMs, tooLate, clock);
    } catch (error) {
      observe("notifyAdapterError", () => ({ operation, error }));
      return undefined;
    }
  };

  const keepListening = async (operation: string, listen: () => Promise<Dispose>): Promise<Dispose> => {
    let ended = false;
    let end: Dispose | undefined;
    let cancelRetry: (() => void) | undefined;

    const begin = async (retryMs: number): Promise<void> => {
      let subscribed: Promise<Dispose> | undefined;
      const dispose = await attempt(operation, () => (subscribed = listen()));
      if (dispose && !ended) end = dispose;
      // Too late: nobody would hear it, or the next try is on its way.
      else void subscribed?.then((late) => attempt("dispose", late)).catch(() => {});
      if (end || ended) return;
      const next = () => void begin(Math.min(retryMs * 2, longestRetryMs));
      cancelRetry = clock.setTimer(next, retryMs * (0.5 + random() / 2));
    };

    await begin(firstRetryMs);
    return async () => {
      ended = true;
      cancelRetry?.();
      if (end) await attempt("dispose", end);
    };
  };

  return {
    listen: async (kind, names, onName, wantsHint) => {
      const { listen, subscribe } = notificationKinds[kind];
      const subscriptions = await Promise.all(
        adapters.map((adapter) => keepListening(listen, () => subscribe(adapter, names, onName, wantsHint))),
      );
      return async () => {
        await Promise.all(subscriptions.map((dispose) => dispose()));
      };
    },
  };
};
