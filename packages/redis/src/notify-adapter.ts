import { createNotifyAdapter, type NotifyAdapter } from "leasehold/adapter";
import { checkOptions, type RedisNotifyAdapterOptions } from "./options.ts";
import { createRedisTransport } from "./transport.ts";

/**
 * Carries notifications between processes over Redis. Each notification of runnable jobs has a counter, from which an
 * idle worker takes before it asks the store. Uses the client it is given for commands and opens one more connection
 * for the subscription.
 *
 * Resolves once the subscription is active, or after two seconds without Redis; it then becomes active as soon as
 * Redis can be reached. Only an invalid option rejects.
 */
export const createRedisNotifyAdapter = async (
  options: RedisNotifyAdapterOptions,
): Promise<NotifyAdapter> => {
  const checked = checkOptions(options);
  return createNotifyAdapter(createRedisTransport(checked), { onError: checked.onError });
};
