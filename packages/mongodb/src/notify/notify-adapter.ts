import {
  createNotifyAdapter,
  InvalidOptionError,
  type KeptSubscription,
  type NotifyAdapter,
  type NotifyTransport,
  type OptionNames,
  requireOptions,
} from "leasehold/adapter";
import type { MongoClient } from "mongodb";
import { checkCollectionPrefix } from "../database/collections.ts";
import { type Hints, openHints } from "./hints.ts";
import { openHintStream } from "./listener.ts";

export interface MongoTransportOptions {
  readonly hints: Hints;
  readonly heartbeatMs: number;
  readonly onError: (error: unknown) => void;
}

/** Inserts a document per message; one change stream in each process receives them. */
export const createMongoTransport = ({
  hints,
  heartbeatMs,
  onError,
}: MongoTransportOptions): NotifyTransport => {
  let stream: KeptSubscription | undefined;
  return {
    name: "MongoDB notify adapter",
    channelFor: ({ short }) => short,
    counting: hints.counting,
    publish: hints.publish,
    subscribe: async (channels, { onMessage, onGap }) => {
      stream = openHintStream({ hints, channels, heartbeatMs, onMessage, onGap, onError });
      await stream.started;
    },
    close: async () => {
      await stream?.close();
    },
  };
};

/** Options of `createMongoNotifyAdapter`. */
export interface MongoNotifyAdapterOptions {
  readonly client: MongoClient;
  /** The name of the database. Default: the one in the client's connection string. */
  readonly database?: string | undefined;
  /** Goes before the name of the collection `hints`. Default: `leasehold_`. */
  readonly collectionPrefix?: string | undefined;
  /** After such a silence the change stream is opened anew. Default: 10,000. */
  readonly heartbeatMs?: number | undefined;
  /** Called with what goes wrong in the background: streams that end, listeners that throw. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const knownOptions: OptionNames<keyof MongoNotifyAdapterOptions> = {
  client: true,
  database: true,
  collectionPrefix: true,
  heartbeatMs: true,
  onError: true,
};

const shortestHeartbeatMs = 100;

const longestHeartbeatMs = 3_600_000;

const checkHeartbeat = (heartbeatMs: number): number => {
  if (
    Number.isSafeInteger(heartbeatMs) &&
    heartbeatMs >= shortestHeartbeatMs &&
    heartbeatMs <= longestHeartbeatMs
  ) {
    return heartbeatMs;
  }
  const range = `must be an integer from ${shortestHeartbeatMs} to ${longestHeartbeatMs}`;
  throw new InvalidOptionError("heartbeatMs", range, heartbeatMs);
};

/**
 * Carries notifications between processes through MongoDB itself: a small collection, and one change stream per
 * process. Each notification of runnable jobs has a counter, from which an idle worker takes before it asks the store.
 *
 * Resolves once the stream is open, or after two seconds without a server; it is then opened as soon as the server can
 * be reached. Only an invalid option rejects.
 */
export const createMongoNotifyAdapter = async (passed: MongoNotifyAdapterOptions): Promise<NotifyAdapter> => {
  const {
    client,
    database,
    collectionPrefix = "leasehold_",
    heartbeatMs = 10_000,
    onError = () => {},
  } = requireOptions(passed, "createMongoNotifyAdapter", knownOptions) as MongoNotifyAdapterOptions;
  if (typeof client?.startSession !== "function") {
    throw new InvalidOptionError("client", "must be a MongoClient", typeof client);
  }
  const transport = createMongoTransport({
    hints: openHints(client.db(database), checkCollectionPrefix(collectionPrefix)),
    heartbeatMs: checkHeartbeat(heartbeatMs),
    onError,
  });
  return createNotifyAdapter(transport, { onError });
};
