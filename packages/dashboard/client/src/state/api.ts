import { followClock } from "./clock.ts";

const basePath = document.querySelector<HTMLMetaElement>('meta[name="leasehold-base"]')?.content ?? "";

/** The address of one of the page's own views: each part is encoded, so that any name goes. */
export const addressOf = (path: string): string => `${basePath}${path}`;

/** The path of the view at an address, or undefined if the address is elsewhere. */
export const pathOf = (pathname: string): string | undefined => {
  if (pathname === basePath) return "/";
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : undefined;
};

/** What the server refused, in its words. */
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
