import {
  BrokerTimeoutError,
  createNotifyAdapter,
  InvalidOptionError,
  type NotifyAdapter,
  withDeadline,
} from "leasehold/adapter";
import type { NatsKv } from "./client.ts";
import { checkOptions, type NatsNotifyAdapterOptions } from "./options.ts";
import { createNatsTransport } from "./transport.ts";

const firstAnswerMs = 1_000;
const noAnswer = (): Error => new BrokerTimeoutError("The bucket's status", firstAnswerMs);

const assertExpires = async (kv: NatsKv): Promise<void> => {
  const { ttl } = await withDeadline(kv.status(), firstAnswerMs, noAnswer);
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
