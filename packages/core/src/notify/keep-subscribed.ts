import { setTimeout as sleep } from "node:timers/promises";
import { type Backoff, delayOf } from "../base/backoff.ts";

/** One connection or stream of a subscription. */
export interface SubscriptionSession {
  /** Aborted when the subscription is closed. */
  readonly signal: AbortSignal;
  /** Resolves when the subscription is closed. */
  readonly closed: Promise<void>;
  /** Resolves after this time, or when the subscription is closed. */
  pause(ms: number): Promise<void>;
  /** The session receives messages from now on. */
  opened(): void;
}

/** Options of `keepSubscribed`. */
export interface KeepSubscribedOptions {
  /** Runs one session until it is lost, which rejects, or until the subscription is closed. */
  readonly run: (session: SubscriptionSession) => Promise<void>;
  /** A session was opened after another, or later than it should have been: messages may have been missed. */
  readonly onGap: () => void;
  readonly onError: (error: unknown) => void;
}

/** A subscription that is opened again when it is lost. */
export interface KeptSubscription {
  /** Resolves when the first session is open, or after two seconds without one. */
  readonly started: Promise<void>;
  /** Resolves when the last session has ended. */
  close(): Promise<void>;
}

const firstSessionMs = 2_000;

const reconnectDelay: Backoff = { firstMs: 50, longestMs: 2_000, jitter: "half" };

/** Runs one session after another, with pauses after failures, until the subscription is closed. */
export const keepSubscribed = ({ run, onGap, onError }: KeepSubscribedOptions): KeptSubscription => {
  const closing = new AbortController();
  const { signal } = closing;
  const closed = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  let mayHaveMissed = false;
  let start = (): void => {};
  const first = new Promise<void>((resolve) => {
    start = resolve;
  });
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal, ref: false }).catch(() => {});

  const session: SubscriptionSession = {
    signal,
    closed,
    pause,
    opened: () => {
      start();
      if (mayHaveMissed) onGap();
      mayHaveMissed = true;
    },
  };

  const runAll = async (): Promise<void> => {
    let failures = 0;
    while (!signal.aborted) {
      const before = performance.now();
      try {
        await run(session);
      } catch (error) {
        if (signal.aborted) return;
        onError(error);
        // After a session that lasted, the delays start over.
        const lasted = performance.now() - before > reconnectDelay.longestMs;
        failures = lasted ? 1 : failures + 1;
        await pause(delayOf(reconnectDelay, failures, Math.random));
      }
    }
  };

  const running = runAll();
  return {
    started: Promise.race([
      first,
      pause(firstSessionMs).then(() => {
        mayHaveMissed = true;
      }),
    ]),
    close: async () => {
      closing.abort();
      await running;
    },
  };
};
