import { effect, signal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Backlog, Processes, Summary } from "../../../src/answers/numbers.ts";
import { addressOf, ApiError, type Polled, read } from "./api.ts";
import { followClock, isLive } from "./settings.ts";

/** What the server tells of as it changes. */
export interface Topics {
  readonly backlog: Backlog;
  readonly summary: Summary;
  readonly processes: Processes;
}

type Topic = keyof Topics;

interface Heard {
  /** The latest state; stays while later ones are not heard of. */
  readonly data: unknown;
  readonly error: ApiError | undefined;
}

const nothing: Heard = { data: undefined, error: undefined };

/** What is known of each topic, and how many parts of the page want it. */
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

/** Asks for a topic as for any other answer. Says whether the server is there, whatever it answers. */
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

/** A stream that says nothing for so long is none. The backlog has a time in it, so it changes every two seconds. */
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

/** What a connection does later, it does not do once it has been replaced. */
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

/** Pages come and go in one turn, so what they want is looked at after it. */
const arrange = (): void => {
  clearTimeout(arranging);
  arranging = setTimeout(() => {
    // By the time somebody comes back to it, it would be old.
    for (const { wanted, heard } of topics.values()) if (wanted === 0) heard.value = nothing;
    const asked = wantedTopics();
    if (asked.length === 0 || document.visibilityState !== "visible" || !isLive.peek()) {
      disconnect();
      // A page that is opened while everything is paused shows how things are then.
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

/** The latest state of a topic. All of a tab's topics come in one stream; without one, the page asks every five seconds. */
export const useTopic = <TTopic extends Topic>(
  topic: TTopic,
  { when = true } = {},
): Polled<Topics[TTopic]> => {
  useEffect(() => (when ? want(topic) : undefined), [topic, when]);
  const { data, error } = entryOf(topic).heard.value;
  return { data: data as Topics[TTopic] | undefined, error, reload: () => void ask(topic) };
};
