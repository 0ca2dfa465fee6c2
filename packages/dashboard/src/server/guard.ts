import { badRequest, HttpError } from "./http-error.ts";

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

/** A name that a stranger points at this address would otherwise make their page one of ours. */
export const assertHost = (host: string | null, allowedHosts: readonly string[] | undefined): void => {
  if (allowedHosts === undefined) return;
  const name = host?.replace(/:\d+$/, "").toLowerCase();
  if (name === undefined || !allowedHosts.includes(name))
    throw new HttpError(403, "host_not_allowed", "This server is not reached under that name.", {
      hint: "Add the name to allowedHosts.",
    });
};

const originOf = (text: string): string | undefined => {
  try {
    return new URL(text).host;
  } catch {
    return undefined;
  }
};

/**
 * Only the page's own scripts may act. A form of another site can send neither JSON nor the header without asking first, and
 * browsers say where a request comes from. A client that says nothing about that is no browser.
 */
export const assertOwnRequest = (request: Request): void => {
  const { headers } = request;
  const refuse = (message: string): never => {
    throw new HttpError(403, "cross_site", message, {
      hint: "Use the page itself, or a client that is no browser.",
    });
  };
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new HttpError(415, "not_json", "The body must be JSON.", {
      hint: "Send content-type: application/json.",
    });
  if (headers.get("x-leasehold") !== "1")
    throw new HttpError(403, "header_missing", "The header x-leasehold is missing.", {
      hint: "Send x-leasehold: 1.",
    });
  const site = headers.get("sec-fetch-site");
  if (site !== null) {
    if (site !== "same-origin") refuse("This request comes from another site.");
    return;
  }
  const origin = headers.get("origin");
  if (origin === null) return;
  const host = headers.get("host");
  if (host === null || originOf(origin) !== host) refuse("This request comes from another site.");
};

const mostBytes = 64 * 1_024;

const tooLarge = (): HttpError =>
  new HttpError(413, "too_large", "The body is larger than 64 kB.", {
    hint: "Choose jobs by a filter instead.",
  });

/** The body as JSON, of a bounded size. */
export const readBody = async (request: Request): Promise<unknown> => {
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
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces))) as unknown;
  } catch {
    throw badRequest("The body is not valid JSON.");
  }
};
