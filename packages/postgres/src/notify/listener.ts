import { keepSubscribed, type KeptSubscription, NotifyTimeoutError, withDeadline } from "leasehold/adapter";
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

const subscribeDeadlineMs = 10_000;

const closeDeadlineMs = 1_000;

const timeout = (what: string, ms: number) => (): Error => new NotifyTimeoutError(what, ms);

/** Closing a connection whose other end is gone may never return. */
const end = (subscription: PgSubscription): Promise<void> =>
  withDeadline(subscription.close(), closeDeadlineMs, timeout("Closing", closeDeadlineMs)).catch(() => {});

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
}: ListenerOptions): KeptSubscription =>
  keepSubscribed({
    onGap: onListening,
    onError,
    run: async ({ signal, closed, pause, opened }) => {
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
      try {
        opened();
        while (!signal.aborted) {
          await Promise.race([pause(heartbeatMs), lost]);
          if (signal.aborted) break;
          const ping = withDeadline(
            subscription.ping(),
            heartbeatMs,
            timeout("The listening connection", heartbeatMs),
          );
          ping.catch(() => {});
          await Promise.race([ping, lost, closed]);
        }
      } finally {
        await end(subscription);
      }
    },
  });
