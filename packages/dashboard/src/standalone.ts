import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { InvalidOptionError } from "leasehold";
import { createDashboard, type DashboardOptions } from "./create-dashboard.ts";
import { toNodeListener } from "./node-listener.ts";
import { securityHeaders } from "./server/guard.ts";
import { type Authorize, rights } from "./server/rights.ts";

export interface StandaloneOptions extends Omit<DashboardOptions, "authorize" | "mountPath"> {
  /** Default: 7878; 0 for any that is free. */
  readonly port?: number | undefined;
  /** Where to listen. Anything but a loopback address needs `token` or `userHeader`. Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** What a browser has to bring along once. Default: a random one, which is in `url`. */
  readonly token?: string | undefined;
  /** A proxy in front has signed people in, and names them in this header. Then there is no token. */
  readonly userHeader?: string | undefined;
}

export interface StandaloneDashboard {
  /** Where to look, with the token. */
  readonly url: string;
  close(): Promise<void>;
}

const loopbackHosts = ["127.0.0.1", "localhost", "::1", "[::1]"];
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

const byHeader =
  (header: string): Authorize =>
  ({ headers }) => {
    const user = headers.get(header);
    return user === null || user === "" ? null : { user, can: rights };
  };

const byCookie =
  (token: string): Authorize =>
  ({ headers }) => {
    const cookie = readCookie(headers.get("cookie"));
    return cookie !== undefined && isSame(cookie, token) ? { user: "operator", can: rights } : null;
  };

const checkToken = (token: string | undefined): string => {
  if (token === undefined) return randomBytes(24).toString("base64url");
  if (token.length < shortestToken || !/^[\w.~-]+$/.test(token))
    throw new InvalidOptionError(
      "token",
      `must have at least ${shortestToken} characters, of letters, digits, -, _, . and ~`,
    );
  return token;
};

/** The dashboard as a server of its own. Whoever has the token may do everything. */
export const startDashboard = async (options: StandaloneOptions): Promise<StandaloneDashboard> => {
  const { port = 7878, host = "127.0.0.1", token: given, userHeader, ...rest } = options;
  const isLoopback = loopbackHosts.includes(host);
  if (!isLoopback && given === undefined && userHeader === undefined)
    throw new InvalidOptionError("host", "needs a token or a userHeader if others can reach it", host);
  const token = checkToken(given);
  const basePath = rest.basePath?.replace(/\/$/, "") ?? "";
  const dashboard = createDashboard({
    ...rest,
    authorize: userHeader === undefined ? byCookie(token) : byHeader(userHeader),
    // A page of another site can have its name lead to this machine.
    ...(isLoopback && rest.allowedHosts === undefined && { allowedHosts: loopbackHosts }),
  });

  /** The token is in the address once, and then only in a cookie that no script can read. */
  const tradeToken = (request: Request): Response | undefined => {
    const url = new URL(request.url);
    const brought = url.searchParams.get("token");
    if (userHeader !== undefined || request.method !== "GET" || brought === null || !isSame(brought, token))
      return undefined;
    const cookie = `${cookieName}=${token}; HttpOnly; SameSite=Strict; Path=${basePath || "/"}`;
    const headers = {
      ...securityHeaders,
      location: `${basePath}/`,
      "set-cookie": cookie,
      "cache-control": "no-store",
    };
    return new Response(null, { status: 303, headers });
  };

  const listener = toNodeListener({
    fetch: async (request) => tradeToken(request) ?? dashboard.fetch(request),
  });
  const server = createServer((message, response) => void listener(message, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const shownHost = host.includes(":") ? `[${host.replaceAll(/[[\]]/g, "")}]` : host;
  const query = userHeader === undefined ? `?token=${token}` : "";
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
