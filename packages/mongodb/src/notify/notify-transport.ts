import type { NotifyTransport } from "leasehold/adapter";
import { type HintStream, openHintStream } from "./hint-stream.ts";
import type { Hints } from "./hints.ts";

export interface MongoTransportOptions {
  readonly hints: Hints;
  readonly heartbeatMs: number;
  readonly onError: (error: unknown) => void;
}

/** Inserts a document per message; one change stream in each process hears of them. */
export const createMongoTransport = ({
  hints,
  heartbeatMs,
  onError,
}: MongoTransportOptions): NotifyTransport => {
  let stream: HintStream | undefined;
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
