import { useEffect, useRef, useState } from "preact/hooks";
import { followClock, isLive } from "./settings.ts";

const basePath = document.querySelector<HTMLMetaElement>('meta[name="leasehold-base"]')?.content ?? "";

/** The address of one of the page's own views: each part is encoded, so that any name goes. */
export const addressOf = (path: string): string => `${basePath}${path}`;

/** The path of the view at an address, or undefined if the address is elsewhere. */
export const pathOf = (pathname: string): string | undefined => {
  if (pathname === basePath) return "/";
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : undefined;
};

/** An error response of the server. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;

  constructor(status: number, code: string, message: string, hint: string | undefined) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

const fromAnswer = (status: number, body: unknown): ApiError => {
  const error = (body as { error?: { code?: string; message?: string; hint?: string } } | null)?.error;
  return new ApiError(
    status,
    error?.code ?? "unknown",
    error?.message ?? "The server gave no reason.",
    error?.hint,
  );
};

const call = async <T>(path: string, init: RequestInit): Promise<T> => {
  let response: Response;
  try {
    response = await fetch(addressOf(`/api/v1/${path}`), init);
  } catch (cause) {
    if (init.signal?.aborted === true) throw cause;
    throw new ApiError(0, "unreachable", "The server cannot be reached.", "The page keeps trying.");
  }
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw fromAnswer(response.status, body);
  followClock(body);
  return body as T;
};

export const read = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  call(path, signal === undefined ? {} : { signal });

export const act = <T>(path: string, body: object = {}): Promise<T> =>
  call(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-leasehold": "1" },
    body: JSON.stringify(body),
  });

export interface Polled<T> {
  /** The latest answer for this path; stays while later requests fail. */
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

/** The server or its store is unavailable or busy: worth a retry. */
const isPassing = ({ status }: ApiError): boolean => status === 0 || status === 429 || status >= 500;

/**
 * Reads at once, and repeatedly while the page is visible and live; with null for `everyMs`, until there is an answer. One request at
 * a time; without a path none. `evenPaused` is for an action that was started on this page: its progress is shown on a paused page.
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
