import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { InvalidOptionError } from "leasehold";
import { securityHeaders } from "./guard.ts";
import { type Authorize, rights } from "./rights.ts";

export interface SignIn {
  /** What is in the address. */
  readonly token: string;
  readonly authorize: Authorize;
  /** The answer to a request that brings a token along; undefined for all others. */
  trade(request: Request): Response | undefined;
}

const cookieName = "leasehold_dashboard";
const shortestToken = 16;

/** Both sides are hashed, so that they are of one length, and comparing takes the same time for all of them. */
const isSame = (a: string, b: string): boolean => {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
};

const readCookie = (header: string | null): string | undefined => {
  for (const pair of (header ?? "").split(";")) {
    const [name, ...value] = pair.trim().split("=");
    if (name === cookieName) return value.join("=");
  }
  return undefined;
};

const randomToken = (): string => randomBytes(24).toString("base64url");

const checkToken = (token: string): string => {
  if (token.length < shortestToken || !/^[\w.~-]+$/.test(token))
    throw new InvalidOptionError(
      "token",
      `must have at least ${shortestToken} characters, of letters, digits, -, _, . and ~`,
    );
  return token;
};

const usedUp = `This address has been used already: its token signs in one browser, once.

Go on in the browser in which you opened it first, or end "leasehold dashboard" and start it again: it prints a new address.
With --token-file the address can be used again and again.
`;

/** Browsers fetch addresses before anybody has asked for them. That must not use up a token. */
const isPrefetch = ({ headers }: Request): boolean =>
  /prefetch|prerender/.test(`${headers.get("sec-purpose")} ${headers.get("purpose")}`);

/**
 * Trades the token of an address for a cookie that no script can read. A random token works once: an address stays in the
 * history of a browser and of a terminal. A token that was given is for repeated use.
 */
export const createSignIn = (given: string | undefined, basePath: string): SignIn => {
  const token = given === undefined ? randomToken() : checkToken(given);
  // With a given token, a browser stays signed in when the server is started again.
  const session =
    given === undefined ? randomToken() : createHmac("sha256", given).update(cookieName).digest("base64url");
  let isUsed = false;

  const isSignedIn = ({ headers }: Request): boolean => {
    const cookie = readCookie(headers.get("cookie"));
    return cookie !== undefined && isSame(cookie, session);
  };

  const toPage = (headers: Readonly<Record<string, string>>): Response =>
    new Response(null, {
      status: 303,
      headers: { ...securityHeaders, location: `${basePath}/`, "cache-control": "no-store", ...headers },
    });

  return {
    token,
    authorize: (request) => (isSignedIn(request) ? { user: "operator", can: rights } : null),
    trade: (request) => {
      const brought = new URL(request.url).searchParams.get("token");
      if (request.method !== "GET" || brought === null || !isSame(brought, token) || isPrefetch(request))
        return undefined;
      if (isSignedIn(request)) return toPage({});
      if (isUsed && given === undefined)
        return new Response(usedUp, {
          status: 401,
          headers: {
            ...securityHeaders,
            "cache-control": "no-store",
            "content-type": "text/plain; charset=utf-8",
          },
        });
      isUsed = true;
      const cookie = `${cookieName}=${session}; HttpOnly; SameSite=Strict; Path=${basePath || "/"}`;
      return toPage({ "set-cookie": cookie });
    },
  };
};
