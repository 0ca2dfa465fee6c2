import { effect, signal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Backlog, Processes, Summary } from "../../../src/answers/numbers.ts";
import { addressOf, ApiError, type Polled, read } from "./api.ts";
import { followClock, isLive } from "./settings.ts";

/** The topics of the server's stream, with the types of their states. */
export interface Topics {
  readonly backlog: Backlog;
  readonly summary: Summary;
  readonly processes: Processes;
}

type Topic = keyof Topics;

interface Heard {
  /** The latest state; stays while later ones do not arrive. */
  readonly data: unknown;
  readonly error: ApiError | undefined;
}

const nothing: Heard = { data: undefined, error: undefined };

/** The latest state of each topic, and how many parts of the page use it. */
const topics = new Map<Topic, { readonly heard: Signal<Heard>; wanted: number }>();

const entryOf = (topic: Topic) => {
  let entry = topics.get(topic);
  if (entry === undefined) topics.set(topic, (entry = { heard: signal(nothing), wanted: 0 }));
  return entry;
};

const wantedTopics = (): Topic[] =>
  [...topics]
    .filter(([, { wanted }]) => wanted > 0)
    .map(([topic]) => topic)
    .sort();

const hear = (topic: Topic, data: unknown): void => {
  followClock(data);
  entryOf(topic).heard.value = { data, error: undefined };
};

const mishear = (topic: Topic, error: ApiError): void => {
  const { heard } = entryOf(topic);
  heard.value = { data: heard.peek().data, error };
};

/** Reads a topic by a request. Returns whether the server answered, even with an error. */
const ask = async (topic: Topic, signal?: AbortSignal): Promise<boolean> => {
  try {
    hear(topic, await read(topic, signal));
    return true;
  } catch (error) {
    if (signal?.aborted === true) return false;
    mishear(topic, error as ApiError);
    return (error as ApiError).status !== 0;
  }
};

/** A stream without events for this time is broken. The backlog contains the time, so it changes every two seconds. */
const silentMs = { atFirst: 5_000, later: 20_000 };

const againMs = 1_000;

const pollMs = 5_000;
/** Polls between two attempts to get the stream after all. */
const pollsInARow = 6;

/*
 *               an event                silence or an error
 *   connecting ──────────▶ streaming ─────────────────────────▶ connecting, a second later
 *       │ refused or silent
 *       ▼        no answer
 *    polling ────────────▶ connecting, a second later; after some polls that were answered, too
 *
 * In a hidden tab and while the page is paused there is neither stream nor poll.
 */
let connection = new AbortController();

let connectedTo = "";

const disconnect = (): void => {
  connection.abort();
  connectedTo = "";
};

/** Timers and events of a replaced connection do nothing. */
const later = ({ signal }: AbortController, ms: number, action: () => void): (() => void) => {
  const stop = (): void => {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  };
  const timer = setTimeout(() => {
    stop();
    action();
  }, ms);
  signal.addEventListener("abort", stop);
  return stop;
};

const poll = async (own: AbortController, polls = 1): Promise<void> => {
  const answers = await Promise.all(wantedTopics().map((topic) => ask(topic, own.signal)));
  if (own.signal.aborted) return;
  if (!answers.some(Boolean)) later(own, againMs, connect);
  else later(own, pollMs, () => (polls < pollsInARow ? void poll(own, polls + 1) : connect()));
};

const receive = (topic: Topic, text: string): void => {
  const data = JSON.parse(text) as {
    readonly error?: { readonly code: string; readonly message: string; readonly hint?: string };
  };
  if (data.error === undefined) hear(topic, data);
  else mishear(topic, new ApiError(503, data.error.code, data.error.message, data.error.hint));
};

const connect = (): void => {
  disconnect();
  const own = (connection = new AbortController());
  const asked = wantedTopics();
  connectedTo = asked.join();
  const query = new URLSearchParams(asked.map((topic) => ["topic", topic]));
  const source = new EventSource(addressOf(`/api/v1/events?${query}`));
  own.signal.addEventListener("abort", () => source.close());
  let isStreaming = false;
  const fail = (): void => {
    if (own.signal.aborted) return;
    stopWaiting();
    source.close();
    if (isStreaming) later(own, againMs, connect);
    else void poll(own);
  };
  let stopWaiting = later(own, silentMs.atFirst, fail);
  for (const topic of asked)
    source.addEventListener(topic, ({ data }: MessageEvent<string>) => {
      isStreaming = true;
      stopWaiting();
      stopWaiting = later(own, silentMs.later, fail);
      receive(topic, data);
    });
  source.addEventListener("error", fail);
};

let arranging: ReturnType<typeof setTimeout> | undefined;

/** One page replaces another within one turn, so the topics in use are compared after it. */
const arrange = (): void => {
  clearTimeout(arranging);
  arranging = setTimeout(() => {
    // It would be outdated for the next page that uses it.
    for (const { wanted, heard } of topics.values()) if (wanted === 0) heard.value = nothing;
    const asked = wantedTopics();
    if (asked.length === 0 || document.visibilityState !== "visible" || !isLive.peek()) {
      disconnect();
      // A page that is opened while paused shows the state at that time.
      for (const topic of asked) if (entryOf(topic).heard.peek() === nothing) void ask(topic);
    } else if (connectedTo !== asked.join()) connect();
  });
};

document.addEventListener("visibilitychange", arrange);

effect(() => {
  void isLive.value;
  arrange();
});

const want = (topic: Topic): (() => void) => {
  const entry = entryOf(topic);
  entry.wanted += 1;
  arrange();
  return () => {
    entry.wanted -= 1;
    arrange();
  };
};

/** The latest state of a topic. All topics of a tab share one stream; without a stream, the page polls every five seconds. */
export const useTopic = <TTopic extends Topic>(
  topic: TTopic,
  { when = true } = {},
): Polled<Topics[TTopic]> => {
  useEffect(() => (when ? want(topic) : undefined), [topic, when]);
  const { data, error } = entryOf(topic).heard.value;
  return { data: data as Topics[TTopic] | undefined, error, reload: () => void ask(topic) };
};
