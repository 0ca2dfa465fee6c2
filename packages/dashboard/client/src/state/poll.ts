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

/** Asks at once, and again and again while the page is seen and live. One question at a time; null asks nothing. */
export const usePolled = <T>(path: string | null, everyMs = 5_000): Polled<T> => {
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
      try {
        const data = await read<T>(path, gone.signal);
        if (!gone.signal.aborted) setHeld({ path, data, error: undefined });
      } catch (error) {
        if (!gone.signal.aborted)
          setHeld((before) => ({
            path,
            data: before.path === path ? before.data : undefined,
            error: error as ApiError,
          }));
      }
      isAsking = false;
      if (!gone.signal.aborted) timer = setTimeout(next, everyMs);
    };
    const next = (): void => {
      if (isLive.value && document.visibilityState === "visible") void question();
      else timer = setTimeout(next, 1_000);
    };
    ask.current = () => void question();
    void question();
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [path, everyMs]);

  const isOwn = held.path === path;
  return {
    data: isOwn ? held.data : undefined,
    error: isOwn ? held.error : undefined,
    reload: () => ask.current(),
  };
};
