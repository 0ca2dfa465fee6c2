import { HttpError } from "./errors.ts";

/** What the page can be told of as it changes. */
export type Topics = Readonly<Record<string, () => Promise<unknown>>>;

export interface LiveOptions {
  readonly topics: Topics;
  /** What viewers are told in place of a state that could not be had. */
  explain(error: unknown): object;
  /** How often to look, while somebody watches. */
  readonly intervalMs?: number;
  /** How often to say that the stream is alive. */
  readonly keepAliveMs?: number;
  /** How often to ask again whether the viewer may still look. */
  readonly recheckMs?: number;
  readonly mostStreams?: number;
}

export interface Live {
  /** A stream of server-sent events. `mayStay` is asked now and then; the stream ends when it says no. */
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
 * One look at the store serves all viewers, and without viewers there is none. A viewer who reads slowly misses states in
 * between and never has more than the latest of each topic waiting.
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
  /** Topics that the store is being asked for. */
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

  /** One question for each topic at a time; a slow one does not hold up the others. */
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

  /** What nobody watches is not looked at, so what is known of it would be old when somebody comes back. */
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
    signal.addEventListener("abort", () => viewer.end(), { once: true });
    viewers.add(viewer);
    begin(asked);
    // The client may have gone while somebody was asked whether it may look.
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
        // Called only when the client has taken what was sent before.
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
  /** The answer to a question that somebody has asked a moment ago, or asks right now; else what `ask` brings. */
  get(question: string, ask: () => Promise<unknown>): Promise<unknown>;
}

export interface SharedAnswersOptions {
  /** For how long an answer serves others. */
  readonly keptMs: number;
  /** How many answers are kept. */
  readonly most: number;
}

/** Many people look at the same numbers: the store is asked for them once. */
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
      // What failed is asked again by whoever comes next.
      answer.then(() => setTimeout(forget, keptMs).unref(), forget);
      const [oldest] = answers.keys();
      if (answers.size > most) answers.delete(oldest!);
      return answer;
    },
  };
};
