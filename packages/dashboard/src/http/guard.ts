import { badRequest, HttpError } from "./errors.ts";

/** On every answer. Scripts and styles come from the page's own files only, and no text can become markup. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** Refuses foreign host names: with DNS rebinding, a page of another site could act as this one. */
export const assertHost = (host: string | null, allowedHosts: readonly string[] | undefined): void => {
  if (allowedHosts === undefined) return;
  const name = host?.replace(/:\d+$/, "").toLowerCase();
  if (name === undefined || !allowedHosts.includes(name))
    throw new HttpError(403, "host_not_allowed", "This server is not reached under that name.", {
      hint: "Add the name to allowedHosts, or pass --allowed-host to the command.",
    });
};

const originOf = (text: string): string | undefined => {
  try {
    return new URL(text).host;
  } catch {
    return undefined;
  }
};

const refuse = (): never => {
  throw new HttpError(403, "cross_site", "This request comes from another site.", {
    hint: "Use the page itself, or a client that is no browser.",
  });
};

/** Browsers name the origin of a request. A client without an origin is no browser. */
export const assertOwnOrigin = ({ headers }: Request): void => {
  const site = headers.get("sec-fetch-site");
  if (site !== null) {
    if (site !== "same-origin") refuse();
    return;
  }
  const origin = headers.get("origin");
  if (origin === null) return;
  const host = headers.get("host");
  if (host === null || originOf(origin) !== host) refuse();
};

/**
 * Only the page's own scripts may act. A form of another site can send neither JSON nor the header without a preflight, and
 * its origin is another one.
 */
export const assertOwnRequest = (request: Request): void => {
  const { headers } = request;
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new HttpError(415, "not_json", "The body must be JSON.", {
      hint: "Send content-type: application/json.",
    });
  if (headers.get("x-leasehold") !== "1")
    throw new HttpError(403, "header_missing", "The header x-leasehold is missing.", {
      hint: "Send x-leasehold: 1.",
    });
  assertOwnOrigin(request);
};

const mostBytes = 64 * 1_024;

const tooLarge = (): HttpError =>
  new HttpError(413, "too_large", "The body is larger than 64 kB.", {
    hint: "Choose jobs by a filter instead.",
  });

/** The body, of a bounded size. */
export const readText = async (request: Request): Promise<string> => {
  if (Number(request.headers.get("content-length") ?? 0) > mostBytes) throw tooLarge();
  const pieces: Uint8Array[] = [];
  let size = 0;
  if (request.body !== null) {
    for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>) {
      size += piece.byteLength;
      if (size > mostBytes) throw tooLarge();
      pieces.push(piece);
    }
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
  } catch {
    throw badRequest("The body is not valid UTF-8.");
  }
};

/** The body as JSON, of a bounded size. */
export const readBody = async (request: Request): Promise<unknown> => {
  const text = await readText(request);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw badRequest("The body is not valid JSON.");
  }
};

export interface Quota {
  /** Runs the work when the user has a free place, unless the signal is aborted before. */
  run<T>(user: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

interface Person {
  running: number;
  readonly waiting: Set<() => void>;
}

/**
 * Limits the expensive requests of each user. A page may send several at once, so some wait for their turn; the rest is refused.
 */
export const createQuota = ({ most, mostWaiting }: { most: number; mostWaiting: number }): Quota => {
  const people = new Map<string, Person>();

  const waitForTurn = ({ waiting }: Person, signal: AbortSignal): Promise<void> => {
    if (waiting.size >= mostWaiting)
      throw new HttpError(429, "too_many", "You have several long requests under way.", {
        hint: "Wait for one of them to end.",
        headers: { "retry-after": "1" },
      });
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        waiting.delete(begin);
        reject(new HttpError(503, "too_slow", "Your other requests took too long.", { hint: "Try again." }));
      };
      if (signal.aborted) return leave();
      waiting.add(begin);
      signal.addEventListener("abort", leave, { once: true });
    });
  };

  return {
    run: async (user, signal, work) => {
      let person = people.get(user);
      if (person === undefined) people.set(user, (person = { running: 0, waiting: new Set() }));
      // A request that ends passes its place on, so that a new request cannot take it first.
      if (person.running >= most) await waitForTurn(person, signal);
      else person.running += 1;
      try {
        return await work();
      } finally {
        const [next] = person.waiting;
        if (next === undefined) person.running -= 1;
        else {
          person.waiting.delete(next);
          next();
        }
        if (person.running === 0) people.delete(user);
      }
    },
  };
};
