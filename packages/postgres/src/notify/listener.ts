import { type Backoff, delayOf, NotifyTimeoutError, withDeadline } from "leasehold/adapter";
import { setTimeout as sleep } from "node:timers/promises";
import type { PgNotifyProvider, PgSubscription } from "./provider.ts";

export interface ListenerOptions {
  readonly provider: PgNotifyProvider;
  readonly channels: readonly string[];
  readonly heartbeatMs: number;
  readonly onMessage: (channel: string, payload: string) => void;
  /** The session listens again after a loss, or for the first time after a delay: messages may have been missed. */
  readonly onListening: () => void;
  readonly onError: (error: unknown) => void;
}

export interface Listener {
  /** Resolves when the first session listens, or after two seconds without one. */
  readonly started: Promise<void>;
  close(): Promise<void>;
}

const firstSessionMs = 2_000;

const subscribeDeadlineMs = 10_000;

const reconnectDelay: Backoff = { firstMs: 50, longestMs: 2_000, jitter: "half" };

const closeDeadlineMs = 1_000;

const timeout = (what: string, ms: number) => (): Error => new NotifyTimeoutError(what, ms);

/**
 * Keeps a session listening until it is closed:
 *
 *   connect ─▶ listen ─▶ ping, ping, … ─ lost or silent ─▶ pause ─▶ connect
 *
 * The heartbeat detects a connection whose other end is gone, which the network does not report.
 */
export const openListener = ({
  provider,
  channels,
  heartbeatMs,
  onMessage,
  onListening,
  onError,
}: ListenerOptions): Listener => {
  const closing = new AbortController();
  let current: PgSubscription | undefined;
  let mayHaveMissed = false;
  let start = (): void => {};
  const first = new Promise<void>((resolve) => {
    start = resolve;
  });

  const pause = (ms: number): Promise<void> =>
    sleep(ms, undefined, { signal: closing.signal, ref: false }).then(
      () => {},
      () => {},
    );

  /** Closing a connection whose other end is gone may never return. */
  const end = (subscription: PgSubscription): Promise<void> =>
    withDeadline(subscription.close(), closeDeadlineMs, timeout("Closing", closeDeadlineMs)).catch(() => {});

  /** One session, from its beginning to its end. */
  const listenOnce = async (): Promise<void> => {
    let lose: (error: unknown) => void = () => {};
    const lost = new Promise<never>((_resolve, reject) => {
      lose = reject;
    });
    lost.catch(() => {});
    const subscribing = provider.subscribe(channels, { onMessage, onLost: (error) => lose(error) });
    let subscription: PgSubscription;
    try {
      subscription = await withDeadline(
        subscribing,
        subscribeDeadlineMs,
        timeout("LISTEN", subscribeDeadlineMs),
      );
    } catch (error) {
      // One that comes too late is not wanted any more.
      subscribing.then((late) => late.close()).catch(() => {});
      throw error;
    }
    current = subscription;
    try {
      start();
      if (mayHaveMissed) onListening();
      mayHaveMissed = true;
      while (!closing.signal.aborted) {
        await Promise.race([pause(heartbeatMs), lost]);
        if (closing.signal.aborted) break;
        await Promise.race([
          withDeadline(subscription.ping(), heartbeatMs, timeout("The listening connection", heartbeatMs)),
          lost,
        ]);
      }
    } finally {
      current = undefined;
      await end(subscription);
    }
  };

  const run = async (): Promise<void> => {
    let failures = 0;
    while (!closing.signal.aborted) {
      const before = Date.now();
      try {
        await listenOnce();
      } catch (error) {
        if (closing.signal.aborted) return;
        onError(error);
        // After a session that lasted, the delays start over.
        const lasted = Date.now() - before > reconnectDelay.longestMs;
        failures = lasted ? 1 : failures + 1;
        await pause(delayOf(reconnectDelay, failures, Math.random));
      }
    }
  };

  const running = run();
  return {
    started: Promise.race([
      first,
      pause(firstSessionMs).then(() => {
        mayHaveMissed = true;
      }),
    ]),
    close: async () => {
      closing.abort();
      if (current) await end(current);
      await running;
    },
  };
};
