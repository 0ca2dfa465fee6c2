import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, read } from "./api.ts";
import { isLive } from "./settings.ts";

export interface Polled<T> {
  /** The latest answer for this path; stays while a later question fails. */
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  reload(): void;
}

interface Held<T> {
  readonly path: string | null;
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
}

const usualMs = 5_000;
const soonMs = 2_000;

/** The server or its store is away, or busy: that may be over soon. */
const isPassing = ({ status }: ApiError): boolean => status === 0 || status === 429 || status >= 500;

/**
 * Asks at once, and again and again while the page is seen and live; with null for `everyMs`, until there is an answer. One
 * question at a time; without a path there is none. `evenPaused` is for what somebody on this page has set in motion: they want
 * to see how it ends.
 */
export const usePolled = <T>(
  path: string | null,
  everyMs: number | null = usualMs,
  { evenPaused = false } = {},
): Polled<T> => {
  const [held, setHeld] = useState<Held<T>>({ path, data: undefined, error: undefined });
  const ask = useRef<() => void>(() => undefined);

  useEffect(() => {
    if (path === null) return;
    const gone = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isAsking = false;
    const question = async (): Promise<void> => {
      if (isAsking) return;
      isAsking = true;
      clearTimeout(timer);
      let nextMs = everyMs;
      try {
        const data = await read<T>(path, gone.signal);
        if (!gone.signal.aborted) setHeld({ path, data, error: undefined });
      } catch (problem) {
        const error = problem as ApiError;
        if (isPassing(error)) nextMs = Math.min(everyMs ?? usualMs, soonMs);
        if (!gone.signal.aborted)
          setHeld((before) => ({ path, data: before.path === path ? before.data : undefined, error }));
      }
      isAsking = false;
      if (!gone.signal.aborted && nextMs !== null) timer = setTimeout(next, nextMs);
    };
    const next = (): void => {
      if ((isLive.value || evenPaused) && document.visibilityState === "visible") void question();
      else timer = setTimeout(next, 1_000);
    };
    ask.current = () => void question();
    void question();
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [path, everyMs, evenPaused]);

  const isOwn = held.path === path;
  return {
    data: isOwn ? held.data : undefined,
    error: isOwn ? held.error : undefined,
    reload: () => ask.current(),
  };
};
