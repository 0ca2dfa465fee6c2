import {
  AdapterClosedError,
  BrokerTimeoutError,
  createHintListeners,
  createScheduledHints,
  decodeIds,
  decodeScheduled,
  type Dispose,
  encodeIds,
  encodeScheduled,
  InvalidOptionError,
  type NotifyAdapter,
  withDeadline,
} from "leasehold/adapter";
import type { NatsKv } from "./client.ts";
import { watchConnection } from "./connection-watch.ts";
import { NatsUnavailableError } from "./errors.ts";
import { createHintCounts } from "./hint-counts.ts";
import { checkOptions, type NatsNotifyAdapterOptions } from "./options.ts";

// A broker that is down must not keep an application from starting: the bucket and the subscriptions have this long each.
const firstAnswerMs = 1_000;
const counterDeadlineMs = 1_000;

// All idle workers compete for a counter, one write at a time; beyond this the contention costs more than the looks
// it saves.
const largestCountedHint = 32;

const assertExpires = async (kv: NatsKv): Promise<void> => {
  const { ttl } = await withDeadline(
    kv.status(),
    firstAnswerMs,
    () => new BrokerTimeoutError("The bucket's status", firstAnswerMs),
  );
  if (!(ttl > 0))
    throw new InvalidOptionError(
      "kv",
      "must be a bucket whose entries expire, made with a `ttl` such as 60000",
      ttl,
    );
};

/**
 * Carries hints between processes over NATS: three subjects on the one connection it is given. With a key-value
 * bucket, each hint about runnable jobs has a counter, from which an idle worker takes before it asks the store.
 *
 * Resolves once the subscriptions are active, or after two seconds without NATS; they then become active as soon as
 * it can be reached. Only an invalid option rejects.
 */
export const createNatsNotifyAdapter = async (options: NatsNotifyAdapterOptions): Promise<NotifyAdapter> => {
  const { nc, kv, subjectPrefix, onError } = checkOptions(options);
  if (kv) {
    await assertExpires(kv).catch((error: unknown) => {
      if (error instanceof InvalidOptionError) throw error;
      onError(error);
    });
  }
  const scheduledSubject = `${subjectPrefix}.sched`;
  const completedSubject = `${subjectPrefix}.seqc`;
  const lostSubject = `${subjectPrefix}.owls`;
  const counts = kv && createHintCounts(kv);
  const listeners = createHintListeners(onError);
  const scheduled = createScheduledHints({ listeners, take: counts?.take, onError });
  const decoder = new TextDecoder();
  let closed = false;

  const subscribe = (subject: string, receive: (message: string) => void) =>
    nc.subscribe(subject, {
      callback: (error, message) => {
        if (closed) return;
        if (error) onError(error);
        else receive(decoder.decode(message.data));
      },
    });
  const subscriptions = [
    subscribe(scheduledSubject, (message) => {
      const hint = decodeScheduled(message);
      if (hint) scheduled.arrived(hint);
    }),
    subscribe(completedSubject, (message) => {
      if (listeners.awaitCompletions) for (const id of decodeIds(message)) listeners.tellCompleted(id);
    }),
    subscribe(lostSubject, (message) => {
      for (const id of decodeIds(message)) listeners.tellLost(id);
    }),
  ];
  // Once the server has answered, it has the subscriptions again: whoever looks then misses nothing afterwards.
  const resume = (): void => void nc.flush().then(listeners.tellEveryone, onError);
  const connection = watchConnection(nc, resume, onError);
  await withDeadline(
    nc.flush(),
    firstAnswerMs,
    () => new BrokerTimeoutError("The first subscription to NATS", firstAnswerMs),
  ).catch(onError);

  const publish = (subject: string, message: string): void => {
    // The client would keep the message until it is connected again, when the hint is old.
    if (!connection.connected) throw new NatsUnavailableError();
    nc.publish(subject, message);
  };
  const assertUsable = (): void => {
    if (closed) throw new AdapterClosedError("NATS notify adapter");
  };
  const createCounter = async (count: number) => {
    if (!counts || !connection.connected || count > largestCountedHint) return undefined;
    try {
      return await withDeadline(
        counts.create(count),
        counterDeadlineMs,
        () => new BrokerTimeoutError("Creating a hint's counter", counterDeadlineMs),
      );
    } catch (error) {
      // Without JetStream the hint still goes out, to everyone.
      onError(error);
      return undefined;
    }
  };
  const publishIds = async (subject: string, ids: readonly string[]): Promise<void> => {
    assertUsable();
    for (const message of encodeIds(ids)) publish(subject, message);
  };
  const listen = async (add: () => () => void): Promise<Dispose> => {
    assertUsable();
    const remove = add();
    return async () => remove();
  };

  return {
    notifyJobScheduled: async (typeName, count) => {
      assertUsable();
      if (!(count > 0)) return;
      publish(scheduledSubject, encodeScheduled({ typeName, count, ...(await createCounter(count)) }));
    },
    listenJobScheduled: (typeNames, onScheduled, wantsHint) =>
      listen(() => listeners.addScheduled(typeNames, onScheduled, wantsHint)),
    notifyJobSequenceCompleted: (sequenceIds) => publishIds(completedSubject, sequenceIds),
    listenJobSequenceCompleted: (sequenceIds, onCompleted) =>
      listen(() => listeners.addCompleted(sequenceIds, onCompleted)),
    notifyJobOwnershipLost: (jobIds) => publishIds(lostSubject, jobIds),
    listenJobOwnershipLost: (onLost) => listen(() => listeners.addLost(onLost)),
    close: async () => {
      if (closed) return;
      closed = true;
      listeners.clear();
      scheduled.clear();
      connection.stop();
      // A connection that is gone has taken its subscriptions along.
      if (!nc.isClosed()) for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
};
