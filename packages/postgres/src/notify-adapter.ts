import {
  createNotifyAdapter,
  InvalidOptionError,
  type NotifyAdapter,
  readOnError,
  requireOptions,
} from "leasehold/adapter";
import { quoteIdentifier } from "./sql/identifiers.ts";
import type { PgNotifyProvider } from "./notify-provider.ts";
import { createPgTransport } from "./notify-transport.ts";

export interface PgNotifyAdapterOptions {
  readonly notifyProvider: PgNotifyProvider;
  /** Every channel begins with it. Adapters with the same prefix in the same database hear each other. Default: "leasehold". */
  readonly channelPrefix?: string | undefined;
  /** How often the listening connection is checked. Default: 10,000. */
  readonly heartbeatMs?: number | undefined;
  /** Called with lost connections and errors that listeners throw. By default they are ignored, and polling goes on. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const checkHeartbeat = (heartbeatMs: unknown): number => {
  if (typeof heartbeatMs !== "number" || !(heartbeatMs >= 10 && heartbeatMs <= 2 ** 31 - 1)) {
    throw new InvalidOptionError("heartbeatMs", "must be a number of milliseconds, at least 10", heartbeatMs);
  }
  return heartbeatMs;
};

/**
 * Carries notifications by LISTEN/NOTIFY. As many idle workers look for jobs as there are jobs; in each process, if the
 * provider cannot take locks. After a lost connection the adapter listens again and has everyone look once.
 *
 * Resolves once it listens, or after two seconds without PostgreSQL; it then listens as soon as the server can be
 * reached. Only an invalid option rejects.
 */
export const createPgNotifyAdapter = async (options: PgNotifyAdapterOptions): Promise<NotifyAdapter> => {
  const {
    notifyProvider,
    channelPrefix = "leasehold",
    heartbeatMs = 10_000,
    onError,
  } = requireOptions<keyof PgNotifyAdapterOptions>(options, "createPgNotifyAdapter", {
    notifyProvider: true,
    channelPrefix: true,
    heartbeatMs: true,
    onError: true,
  }) as PgNotifyAdapterOptions;
  if (typeof notifyProvider?.subscribe !== "function") {
    throw new InvalidOptionError(
      "notifyProvider",
      "must be a provider, such as createPgNotifyProvider({ pool }) returns",
      typeof notifyProvider,
    );
  }
  quoteIdentifier(channelPrefix, "channelPrefix");
  const checked = {
    notifyProvider,
    channelPrefix,
    heartbeatMs: checkHeartbeat(heartbeatMs),
    onError: readOnError(onError),
  };
  return createNotifyAdapter(createPgTransport(checked), { onError: checked.onError });
};
