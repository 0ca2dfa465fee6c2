import { type Backoff, delayOf, NotifyTimeoutError, withDeadline } from "leasehold/adapter";
import type { ChangeStreamInsertDocument } from "mongodb";
import { setTimeout as sleep } from "node:timers/promises";
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

export interface HintStream {
  /** Resolves when the first stream is open, or after two seconds without one. */
  readonly started: Promise<void>;
  close(): Promise<void>;
}

const firstStreamMs = 2_000;

const reconnectDelay: Backoff = { firstMs: 50, longestMs: 2_000, jitter: "half" };

const closeDeadlineMs = 1_000;
/** So often in a heartbeat the server answers, even when there is nothing to report. */
const answersPerHeartbeat = 4;

/** Inserts only: the server also deletes hints and writes to their counters. */
const pipelineFor = (channels: readonly string[]): Record<string, unknown>[] => [
  { $match: { operationType: "insert", "fullDocument.channel": { $in: channels } } },
  { $project: { operationType: 1, "fullDocument.channel": 1, "fullDocument.message": 1 } },
];

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
}: HintStreamOptions): HintStream => {
  const closing = new AbortController();
  const closed = new Promise<undefined>((resolve) => {
    closing.signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  let closeCurrent: (() => Promise<void>) | undefined;
  let mayHaveMissed = false;
  let start = (): void => {};
  const first = new Promise<void>((resolve) => {
    start = resolve;
  });

  const pause = (ms: number): Promise<void> =>
    sleep(ms, undefined, { signal: closing.signal, ref: false }).catch(() => {});

  const end = (stream: { close(): Promise<void> }): Promise<void> =>
    withDeadline(
      stream.close(),
      closeDeadlineMs,
      () => new NotifyTimeoutError("Closing a change stream", closeDeadlineMs),
    ).catch(() => {});

  const reportError = (error: unknown): void => {
    if (!closing.signal.aborted) onError(error);
  };

  const report = ({ fullDocument }: ChangeStreamInsertDocument<HintDocument>): void => {
    const { channel, message } = fullDocument;
    // Anyone may write into the collection.
    if (typeof message === "string") onMessage(channel, message);
  };

  /** One stream, from its beginning to its end. */
  const readOnce = async (): Promise<void> => {
    await Promise.race([hints.prepare().catch(reportError), closed]);
    if (closing.signal.aborted) return;
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
      start();
      if (mayHaveMissed) onGap();
      mayHaveMissed = true;
    });
    closeCurrent = () => end(stream);
    try {
      while (!closing.signal.aborted) {
        const next = stream.next();
        next.catch(() => {});
        // A stream that is closed may keep its last answer back for as long as it may wait.
        const event = await Promise.race([next, silence, closed]);
        if (event !== undefined && !closing.signal.aborted) report(event);
      }
    } finally {
      clearTimeout(watchdog);
      await closeCurrent();
      closeCurrent = undefined;
    }
  };

  const run = async (): Promise<void> => {
    let failures = 0;
    while (!closing.signal.aborted) {
      const before = performance.now();
      try {
        await readOnce();
      } catch (error) {
        reportError(error);
        // After a stream that lasted, the delays start over.
        const lasted = performance.now() - before > reconnectDelay.longestMs;
        failures = lasted ? 1 : failures + 1;
        await pause(delayOf(reconnectDelay, failures, Math.random));
      }
    }
  };

  const running = run();
  return {
    started: Promise.race([
      first,
      pause(firstStreamMs).then(() => {
        mayHaveMissed = true;
      }),
    ]),
    close: async () => {
      closing.abort();
      await closeCurrent?.();
      await running;
    },
  };
};
