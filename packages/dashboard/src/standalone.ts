import { InvalidOptionError } from "leasehold";
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createDashboard, type DashboardOptions } from "./create-dashboard.ts";
import { securityHeaders } from "./http/guard.ts";
import { type Authorize, rights } from "./http/rights.ts";
import { toNodeListener } from "./node-listener.ts";

export interface SignIn {
  /** The token in the address. */
  readonly token: string;
  readonly authorize: Authorize;
  /** The response to a request with a token; undefined for all others. */
  trade(request: Request): Response | undefined;
}

// Browsers send a cookie to all ports of a host. With the port in its name, dashboards on one machine do not sign each other out.
const cookieNameOf = (port: number): string => `leasehold_dashboard_${port}`;

const shortestToken = 16;

/** Compares hashes, which have the same length, in constant time. */
const isSame = (a: string, b: string): boolean => {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
};

const readCookie = (header: string | null, cookieName: string): string | undefined => {
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

Continue in the browser in which you opened it first, or end "leasehold dashboard" and start it again: it prints a new address.
With --token-file the address can be used again and again.
`;

/** A browser may prefetch an address. That must not use up the token. */
const isPrefetch = ({ headers }: Request): boolean =>
  /prefetch|prerender/.test(`${headers.get("sec-purpose")} ${headers.get("purpose")}`);

/**
 * Trades the token of an address for a cookie that no script can read. A random token works once: an address stays in the
 * history of a browser and of a terminal. A token that was given is for repeated use.
 */
const createSignIn = (given: string | undefined, basePath: string, cookieName: () => string): SignIn => {
  const token = given === undefined ? randomToken() : checkToken(given);
  // With a given token, a browser stays signed in when the server is started again.
  const session =
    given === undefined
      ? randomToken()
      : createHmac("sha256", given).update("leasehold_dashboard").digest("base64url");
  let isUsed = false;

  const isSignedIn = ({ headers }: Request): boolean => {
    const cookie = readCookie(headers.get("cookie"), cookieName());
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
      const cookie = `${cookieName()}=${session}; HttpOnly; SameSite=Strict; Path=${basePath || "/"}`;
      return toPage({ "set-cookie": cookie });
    },
  };
};

export interface StandaloneOptions extends Omit<DashboardOptions, "authorize" | "mountPath"> {
  /** Default: 7878; 0 for any that is free. */
  readonly port?: number | undefined;
  /** Where to listen. Anything but a loopback address needs `token` or `userHeader`. Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** The token that signs browsers in, any number of times. Default: a random one, in `url`, which signs in one browser, once. */
  readonly token?: string | undefined;
  /** The header in which a proxy names the signed-in user. Then there is no token. */
  readonly userHeader?: string | undefined;
}

export interface StandaloneDashboard {
  /** The address of the page, with the token. */
  readonly url: string;
  close(): Promise<void>;
}

const loopbackHosts = ["127.0.0.1", "localhost", "::1", "[::1]"];

const byHeader =
  (header: string): Authorize =>
  ({ headers }) => {
    const user = headers.get(header);
    return user === null || user === "" ? null : { user, can: rights };
  };

/** The dashboard as a server of its own. A user who has signed in with the token has all rights. */
export const startDashboard = async (options: StandaloneOptions): Promise<StandaloneDashboard> => {
  const { port = 7878, host = "127.0.0.1", token: given, userHeader, ...rest } = options;
  const isLoopback = loopbackHosts.includes(host);
  if (!isLoopback && given === undefined && userHeader === undefined)
    throw new InvalidOptionError("host", "needs a token or a userHeader if others can reach it", host);
  const basePath = rest.basePath?.replace(/\/$/, "") ?? "";
  // Port 0 is known only when the server listens.
  const cookieName = (): string => cookieNameOf((server.address() as AddressInfo).port);
  const signIn = userHeader === undefined ? createSignIn(given, basePath, cookieName) : undefined;
  const dashboard = createDashboard({
    ...rest,
    authorize: signIn?.authorize ?? byHeader(userHeader!),
    // DNS rebinding: the name of another site can point to this machine.
    ...(isLoopback && rest.allowedHosts === undefined && { allowedHosts: loopbackHosts }),
  });

  const listener = toNodeListener({
    fetch: async (request) => signIn?.trade(request) ?? dashboard.fetch(request),
  });
  const server = createServer((message, response) => void listener(message, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const shownHost = host.includes(":") ? `[${host.replaceAll(/[[\]]/g, "")}]` : host;
  const query = signIn === undefined ? "" : `?token=${signIn.token}`;
  return {
    url: `http://${shownHost}:${address.port}${basePath}/${query}`,
    close: async () => {
      await dashboard.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
};
