import { HttpError } from "./errors.ts";

/** Topics that the page can subscribe to, each with the function that reads its state. */
export type Topics = Readonly<Record<string, () => Promise<unknown>>>;

export interface LiveOptions {
  readonly topics: Topics;
  /** The event that viewers get when a state could not be read. */
  explain(error: unknown): object;
  /** How often to read a topic that has viewers. */
  readonly intervalMs?: number;
  /** How often to send a comment that keeps the stream open. */
  readonly keepAliveMs?: number;
  /** How often to check again whether the viewer may read. */
  readonly recheckMs?: number;
  readonly mostStreams?: number;
}

export interface Live {
  /** A stream of server-sent events. It ends when `mayStay`, which is called regularly, returns false. */
  open(
    topics: readonly string[],
    signal: AbortSignal,
    mayStay: () => Promise<boolean>,
  ): ReadableStream<Uint8Array>;
  readonly viewers: number;
  close(): void;
}

interface Viewer {
  readonly topics: ReadonlySet<string>;
  /** The latest state of each topic that has not been sent. */
  readonly unsent: Map<string, string>;
  wake(): void;
  end(): void;
}

const encoder = new TextEncoder();

/**
 * All viewers share one read of the store, and without viewers there is none. A slow viewer skips states: at most the latest one of
 * each topic waits for it.
 */
export const createLive = ({
  topics,
  explain,
  intervalMs = 2_000,
  keepAliveMs = 15_000,
  recheckMs = 60_000,
  mostStreams = 100,
}: LiveOptions): Live => {
  const viewers = new Set<Viewer>();
  const latest = new Map<string, string>();
  /** Topics whose read is under way. */
  const underWay = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const isWatched = (topic: string): boolean => [...viewers].some((viewer) => viewer.topics.has(topic));

  const tell = (topic: string, state: string): void => {
    if (latest.get(topic) === state || !isWatched(topic)) return;
    latest.set(topic, state);
    for (const viewer of viewers) {
      if (!viewer.topics.has(topic)) continue;
      viewer.unsent.set(topic, state);
      viewer.wake();
    }
  };

  /** One read of each topic at a time; a slow one does not delay the others. */
  const lookAt = async (topic: string): Promise<void> => {
    if (underWay.has(topic)) return;
    underWay.add(topic);
    try {
      tell(topic, JSON.stringify(await topics[topic]!()));
    } catch (error) {
      tell(topic, JSON.stringify(explain(error)));
    }
    underWay.delete(topic);
  };

  const look = (): void => {
    for (const topic of Object.keys(topics)) if (isWatched(topic)) void lookAt(topic);
  };

  const begin = (asked: readonly string[]): void => {
    timer ??= setInterval(look, intervalMs).unref();
    for (const topic of asked) if (!latest.has(topic)) void lookAt(topic);
  };

  /** A topic without viewers is not read, so its last state would be outdated for the next viewer. */
  const finish = (): void => {
    for (const topic of latest.keys()) if (!isWatched(topic)) latest.delete(topic);
    if (viewers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  const open: Live["open"] = (asked, signal, mayStay) => {
    const unknown = asked.find((topic) => !Object.hasOwn(topics, topic));
    if (unknown !== undefined) throw new HttpError(400, "bad_request", `There is no topic "${unknown}".`);
    if (viewers.size >= mostStreams)
      throw new HttpError(503, "too_many_streams", "Too many people watch at the moment.", {
        hint: "Reload now and then instead.",
      });
    let wake = (): void => undefined;
    let ended = false;
    const pieces: string[] = ["retry: 5000\n\n"];
    const viewer: Viewer = {
      topics: new Set(asked),
      unsent: new Map([...latest].filter(([topic]) => asked.includes(topic))),
      wake: () => wake(),
      end: () => {
        if (ended) return;
        ended = true;
        viewers.delete(viewer);
        clearInterval(keepAlive);
        clearInterval(recheck);
        signal.removeEventListener("abort", viewer.end);
        wake();
        finish();
      },
    };
    const keepAlive = setInterval(() => {
      pieces[0] ??= ":\n\n";
      wake();
    }, keepAliveMs);
    const recheck = setInterval(
      () =>
        void mayStay().then(
          (may) => may || viewer.end(),
          () => viewer.end(),
        ),
      recheckMs,
    );
    keepAlive.unref();
    recheck.unref();
    signal.addEventListener("abort", viewer.end, { once: true });
    viewers.add(viewer);
    begin(asked);
    // The client may have disconnected while `mayStay` was called.
    if (signal.aborted) viewer.end();

    const take = (): string | undefined => {
      const piece = pieces.shift();
      if (piece !== undefined) return piece;
      const [next] = viewer.unsent;
      if (next === undefined) return undefined;
      viewer.unsent.delete(next[0]);
      return `event: ${next[0]}\ndata: ${next[1]}\n\n`;
    };

    return new ReadableStream<Uint8Array>(
      {
        // Called only when the client has read what was sent before.
        pull: async (controller) => {
          for (;;) {
            const piece = ended ? undefined : take();
            if (piece !== undefined) {
              controller.enqueue(encoder.encode(piece));
              return;
            }
            if (ended) {
              controller.close();
              return;
            }
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        },
        cancel: () => viewer.end(),
      },
      { highWaterMark: 0 },
    );
  };

  return {
    open,
    get viewers() {
      return viewers.size;
    },
    close: () => {
      for (const viewer of viewers) viewer.end();
    },
  };
};

export interface SharedAnswers {
  /** The answer to the same request, if it is recent or under way; else that of `ask`. */
  get(question: string, ask: () => Promise<unknown>): Promise<unknown>;
}

export interface SharedAnswersOptions {
  /** How long an answer is reused. */
  readonly keptMs: number;
  /** How many answers are kept. */
  readonly most: number;
}

/** Viewers of the same numbers share one read of the store. */
export const createSharedAnswers = ({ keptMs, most }: SharedAnswersOptions): SharedAnswers => {
  const answers = new Map<string, Promise<unknown>>();
  return {
    get: (question, ask) => {
      const known = answers.get(question);
      if (known !== undefined) return known;
      const answer = ask();
      answers.set(question, answer);
      const forget = (): void => {
        if (answers.get(question) === answer) answers.delete(question);
      };
      // A failure is not reused: the next request reads again.
      answer.then(() => setTimeout(forget, keptMs).unref(), forget);
      const [oldest] = answers.keys();
      if (answers.size > most) answers.delete(oldest!);
      return answer;
    },
  };
};
