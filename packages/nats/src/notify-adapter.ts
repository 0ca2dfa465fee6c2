import {
  NotifyTimeoutError,
  createNotifyAdapter,
  type HintCounter,
  type HintCounting,
  InvalidOptionError,
  type NotifyAdapter,
  type NotifyTransport,
  withDeadline,
} from "leasehold/adapter";
import { type NatsKv, type NatsSubscription, NatsUnavailableError } from "./client.ts";
import { type ConnectionWatch, watchConnection } from "./connection-watch.ts";
import { createHintCounts, type HintCounts } from "./hint-counts.ts";
import { type CheckedOptions, checkOptions, type NatsNotifyAdapterOptions } from "./options.ts";

// A broker that is down must not keep an application from starting.
const firstAnswerMs = 1_000;

const counterDeadlineMs = 1_000;

const timeoutOf = (operation: string, timeoutMs: number) => (): Error =>
  new NotifyTimeoutError(operation, timeoutMs);

// All idle workers compete for a counter, one write at a time. Beyond this number the contention costs more than the
// claims it saves.
const largestCounted = 32;

export const createNatsTransport = ({ nc, kv, subjectPrefix, onError }: CheckedOptions): NotifyTransport => {
  const decoder = new TextDecoder();
  let subscriptions: NatsSubscription[] = [];
  let connection: ConnectionWatch | undefined;
  let closed = false;

  const assertConnected = (): void => {
    // The client would keep the message until it is connected again, and send it too late.
    if (!connection?.connected) throw new NatsUnavailableError();
  };
  const publish = async (subject: string, messages: readonly string[]): Promise<void> => {
    assertConnected();
    for (const message of messages) nc.publish(subject, message);
  };

  const createCounter = async (counts: HintCounts, count: number): Promise<HintCounter | undefined> => {
    if (count > largestCounted) return undefined;
    try {
      return await withDeadline(
        counts.create(count),
        counterDeadlineMs,
        timeoutOf("Creating a hint's counter", counterDeadlineMs),
      );
    } catch (error) {
      // Without JetStream the message still goes out.
      onError(error);
      return undefined;
    }
  };
  const createCounting = (counts: HintCounts): HintCounting => ({
    publish: async (subject, count, encode) => {
      assertConnected();
      await publish(subject, [encode(await createCounter(counts, count))]);
    },
    take: counts.take,
  });

  return {
    name: "NATS notify adapter",
    channelFor: ({ short }) => `${subjectPrefix}.${short}`,
    counting: kv && createCounting(createHintCounts(kv)),
    publish,
    subscribe: async (subjects, { onMessage, onGap }) => {
      subscriptions = subjects.map((subject) =>
        nc.subscribe(subject, {
          callback: (error, message) => {
            if (closed) return;
            if (error) onError(error);
            else onMessage(subject, decoder.decode(message.data));
          },
        }),
      );
      // Once the server has answered the flush, the subscriptions are active again.
      const resume = (): void => void nc.flush().then(onGap, onError);
      connection = watchConnection(nc, resume, onError);
      await withDeadline(
        nc.flush(),
        firstAnswerMs,
        timeoutOf("The first subscription to NATS", firstAnswerMs),
      ).catch(onError);
    },
    close: async () => {
      closed = true;
      connection?.stop();
      // A closed connection has no subscriptions left.
      if (!nc.isClosed()) for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
};

const assertExpires = async (kv: NatsKv): Promise<void> => {
  const { ttl } = await withDeadline(
    kv.status(),
    firstAnswerMs,
    timeoutOf("The bucket's status", firstAnswerMs),
  );
  if (!(ttl > 0)) {
    const rule = "must be a bucket whose entries expire, made with a `ttl` such as 60000";
    throw new InvalidOptionError("kv", rule, ttl);
  }
};

/**
 * Carries notifications between processes over NATS, on the one connection it is given. With a key-value bucket, each
 * notification of runnable jobs has a counter, from which an idle worker takes before it asks the store.
 *
 * Resolves once the subscriptions are active, or after two seconds without NATS; they then become active as soon as
 * it can be reached. Only an invalid option rejects.
 */
export const createNatsNotifyAdapter = async (options: NatsNotifyAdapterOptions): Promise<NotifyAdapter> => {
  const checked = checkOptions(options);
  const { kv, onError } = checked;
  if (kv) {
    await assertExpires(kv).catch((error: unknown) => {
      if (error instanceof InvalidOptionError) throw error;
      onError(error);
    });
  }
  return createNotifyAdapter(createNatsTransport(checked), { onError });
};
