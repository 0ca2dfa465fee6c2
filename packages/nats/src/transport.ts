import {
  BrokerTimeoutError,
  type HintCounter,
  type HintCounting,
  type NotifyTransport,
  withDeadline,
} from "leasehold/adapter";
import type { NatsSubscription } from "./client.ts";
import { type ConnectionWatch, watchConnection } from "./connection-watch.ts";
import { NatsUnavailableError } from "./errors.ts";
import { createHintCounts, type HintCounts } from "./hint-counts.ts";
import type { CheckedOptions } from "./options.ts";

// A broker that is down must not keep an application from starting.
const firstAnswerMs = 1_000;
const counterDeadlineMs = 1_000;
const noAnswer = (): Error => new BrokerTimeoutError("The first subscription to NATS", firstAnswerMs);
const noCounter = (): Error => new BrokerTimeoutError("Creating a hint's counter", counterDeadlineMs);

// All idle workers compete for a counter, one write at a time. Beyond this number the contention costs more than the
// looks it saves.
const largestCounted = 32;

export const createNatsTransport = ({ nc, kv, subjectPrefix, onError }: CheckedOptions): NotifyTransport => {
  const decoder = new TextDecoder();
  let subscriptions: NatsSubscription[] = [];
  let connection: ConnectionWatch | undefined;
  let closed = false;

  const assertConnected = (): void => {
    // The client would keep the message until it is connected again, when it is too old to be of use.
    if (!connection?.connected) throw new NatsUnavailableError();
  };
  const publish = async (subject: string, messages: readonly string[]): Promise<void> => {
    assertConnected();
    for (const message of messages) nc.publish(subject, message);
  };

  const createCounter = async (counts: HintCounts, count: number): Promise<HintCounter | undefined> => {
    if (count > largestCounted) return undefined;
    try {
      return await withDeadline(counts.create(count), counterDeadlineMs, noCounter);
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
      // Once the server has answered, it has the subscriptions again: whoever looks then misses nothing afterwards.
      const resume = (): void => void nc.flush().then(onGap, onError);
      connection = watchConnection(nc, resume, onError);
      await withDeadline(nc.flush(), firstAnswerMs, noAnswer).catch(onError);
    },
    close: async () => {
      closed = true;
      connection?.stop();
      // A connection that is gone has taken its subscriptions along.
      if (!nc.isClosed()) for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
};
