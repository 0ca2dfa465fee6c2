import { keepSubscribed, type KeptSubscription, NotifyTimeoutError, withDeadline } from "leasehold/adapter";
import type { ChangeStreamInsertDocument } from "mongodb";
import type { HintDocument, Hints } from "./hints.ts";

export interface HintStreamOptions {
  readonly hints: Hints;
  readonly channels: readonly string[];
  readonly heartbeatMs: number;
  readonly onMessage: (channel: string, message: string) => void;
  /** A stream was opened after another, or later than it should have been: messages may have been missed. */
  readonly onGap: () => void;
  readonly onError: (error: unknown) => void;
}

const closeDeadlineMs = 1_000;
/** So often in a heartbeat the server answers, even when there is nothing to report. */
const answersPerHeartbeat = 4;

/** Inserts only: the server also deletes hints and writes to their counters. */
const pipelineFor = (channels: readonly string[]): Record<string, unknown>[] => [
  { $match: { operationType: "insert", "fullDocument.channel": { $in: channels } } },
  { $project: { operationType: 1, "fullDocument.channel": 1, "fullDocument.message": 1 } },
];

const end = (stream: { close(): Promise<void> }): Promise<void> =>
  withDeadline(
    stream.close(),
    closeDeadlineMs,
    () => new NotifyTimeoutError("Closing a change stream", closeDeadlineMs),
  ).catch(() => {});

/**
 * Keeps a change stream open:
 *
 *   open ─▶ answer, answer, … ─ failed or silent ─▶ pause ─▶ open
 *
 * Through short losses of the connection the driver resumes the stream by itself, and nothing is missed.
 */
export const openHintStream = ({
  hints,
  channels,
  heartbeatMs,
  onMessage,
  onGap,
  onError,
}: HintStreamOptions): KeptSubscription =>
  keepSubscribed({
    onGap,
    onError,
    run: async ({ signal, closed, opened }) => {
      const reportError = (error: unknown): void => {
        if (!signal.aborted) onError(error);
      };
      await Promise.race([hints.prepare().catch(reportError), closed]);
      if (signal.aborted) return;
      const stream = hints.collection.watch<HintDocument, ChangeStreamInsertDocument<HintDocument>>(
        pipelineFor(channels),
        { maxAwaitTimeMS: Math.ceil(heartbeatMs / answersPerHeartbeat) },
      );
      let giveUp = (): void => {};
      const silence = new Promise<never>((_resolve, reject) => {
        giveUp = () => reject(new NotifyTimeoutError("The change stream of hints", heartbeatMs));
      });
      silence.catch(() => {});
      const watchdog = setTimeout(() => giveUp(), heartbeatMs).unref();
      let isOpen = false;
      // With every answer of the server, the first one included.
      stream.on("resumeTokenChanged", () => {
        watchdog.refresh();
        if (isOpen) return;
        isOpen = true;
        opened();
      });
      try {
        while (!signal.aborted) {
          const next = stream.next();
          next.catch(() => {});
          // A stream that is closed may keep its last answer back for as long as it may wait.
          const event = await Promise.race([next, silence, closed]);
          if (event === undefined || signal.aborted) continue;
          const { channel, message } = event.fullDocument;
          // Anyone may write into the collection.
          if (typeof message === "string") onMessage(channel, message);
        }
      } finally {
        clearTimeout(watchdog);
        await end(stream);
      }
    },
  });
