import { InvalidOptionError } from "leasehold";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createDashboardWithin, type DashboardOptions, type StoreLink } from "../create-dashboard.ts";
import { HttpError } from "../http/errors.ts";
import { securityHeaders } from "../http/guard.ts";
import { isVisit, plainPage } from "../http/page.ts";
import { type Authorize, rights } from "../http/rights.ts";
import { toNodeListener } from "../node-listener.ts";
import type { Environment } from "../routes/route.ts";
import { createSignIn } from "./sign-in.ts";
import { type DashboardUser, operatorOf, requireUsers } from "./users.ts";

/** One of several stores that a server shows. */
export interface StandaloneStore extends Pick<
  DashboardOptions,
  "leasehold" | "stateAdapter" | "workerless" | "redact" | "traceUrl"
> {
  /** Its path below that of the server: letters, digits, `-`, `_`, `.` and `~`. */
  readonly path: string;
  /** Its name in the switch between stores. */
  readonly environment: Environment;
}

interface ServerOptions extends Pick<
  DashboardOptions,
  "basePath" | "mountPath" | "readOnly" | "allowedHosts"
> {
  /** Default: 7878; 0 for any that is free. */
  readonly port?: number | undefined;
  /** Where to listen. Anything but a loopback address needs `token`, `users` or `userHeader`. Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** The token that signs browsers in, any number of times. Default: a random one, in `url`, which signs in one browser, once. */
  readonly token?: string | undefined;
  /** Users with tokens and rights of their own, instead of one `token`. */
  readonly users?: readonly DashboardUser[] | undefined;
  /** The header in which a proxy names the signed-in user. Then there is no token. */
  readonly userHeader?: string | undefined;
  /** How long a browser stays signed in, in milliseconds. Default: 12 hours. */
  readonly sessionMs?: number | undefined;
  /** Called with the next address when the session of a one-time token is over. */
  readonly onNewUrl?: ((url: string) => void) | undefined;
}

type OneStore = Omit<DashboardOptions, "authorize" | "basePath" | "mountPath" | "readOnly" | "allowedHosts">;

/** Options of `startDashboard`. */
export type StandaloneOptions = ServerOptions & (OneStore | { readonly stores: readonly StandaloneStore[] });

/** A dashboard with its own server. */
export interface StandaloneDashboard {
  /** The address of the page, with the token. */
  readonly url: string;
  close(): Promise<void>;
}

// Browsers send a cookie to all ports of a host. With the port in its name, dashboards on one machine do not sign each other out.
const cookieNameOf = (port: number): string => `leasehold_dashboard_${port}`;

const loopbackHosts = ["127.0.0.1", "localhost", "::1", "[::1]"];

/** Whether only this machine can reach it. */
export const isLoopback = (host: string): boolean => loopbackHosts.includes(host);

const byHeader =
  (header: string): Authorize =>
  ({ headers }) => {
    const user = headers.get(header);
    return user === null || user === "" ? null : { user, can: rights };
  };

const withoutSlash = (path: string | undefined): string => path?.replace(/\/$/, "") ?? "";

const requireStores = (stores: readonly StandaloneStore[]): void => {
  if (stores.length === 0) throw new InvalidOptionError("stores", "must have at least one store");
  for (const [index, { path }] of stores.entries()) {
    if (!/^[\w~-][\w.~-]*$/.test(path) || ["sign-in", "sign-out"].includes(path))
      throw new InvalidOptionError(
        `stores[${index}].path`,
        "must be a name of letters, digits, -, _, . and ~",
        path,
      );
    if (stores.slice(0, index).some((other) => other.path === path))
      throw new InvalidOptionError(`stores[${index}].path`, "must not be that of another store", path);
  }
};

/** The dashboards of a server, and which of them answers a request. */
const createMounts = (options: StandaloneOptions, authorize: Authorize, signOutPath: string | undefined) => {
  const { readOnly, allowedHosts } = options;
  const basePath = withoutSlash(options.basePath);
  const mountPath = withoutSlash(options.mountPath ?? basePath);
  const shared = { readOnly, allowedHosts, authorize };
  if (!("stores" in options)) {
    const { leasehold, stateAdapter, environment, redact, traceUrl, workerless } = options;
    const own = { leasehold, stateAdapter, environment, redact, traceUrl, workerless };
    const dashboard = createDashboardWithin({ ...shared, ...own, basePath, mountPath }, { signOutPath });
    return { find: () => dashboard, close: () => dashboard.close() };
  }
  requireStores(options.stores);
  const links: readonly StoreLink[] = options.stores.map(({ path, environment }) => ({
    ...environment,
    path: `${basePath}/${path}`,
  }));
  const mounts = options.stores.map(({ path, ...store }) => ({
    mountPath: `${mountPath}/${path}`,
    dashboard: createDashboardWithin(
      { ...shared, ...store, basePath: `${basePath}/${path}`, mountPath: `${mountPath}/${path}` },
      { signOutPath, stores: links },
    ),
  }));
  /** The address of the server itself leads to its first store. */
  const toFirst = {
    fetch: async (): Promise<Response> =>
      new Response(null, {
        status: 303,
        headers: { ...securityHeaders, location: `${links[0]!.path}/`, "cache-control": "no-store" },
      }),
  };
  return {
    find: ({ url }: Request) => {
      const { pathname } = new URL(url);
      if (pathname === mountPath || pathname === `${mountPath}/`) return toFirst;
      const mount = mounts.find(
        (one) => pathname === one.mountPath || pathname.startsWith(`${one.mountPath}/`),
      );
      return (mount ?? mounts[0]!).dashboard;
    },
    close: async () => void (await Promise.all(mounts.map(({ dashboard }) => dashboard.close()))),
  };
};

const usersOf = ({ token, users }: ServerOptions): readonly DashboardUser[] | undefined => {
  if (token !== undefined && users !== undefined)
    throw new InvalidOptionError("users", "cannot be used together with token");
  if (users !== undefined) return requireUsers(users);
  return token === undefined ? undefined : [operatorOf(token)];
};

/** The dashboard as a server of its own. A user who has signed in with the one token has all rights. */
export const startDashboard = async (options: StandaloneOptions): Promise<StandaloneDashboard> => {
  const { port = 7878, host = "127.0.0.1", userHeader, allowedHosts, sessionMs = 12 * 3_600_000 } = options;
  const users = usersOf(options);
  if (!isLoopback(host) && users === undefined && userHeader === undefined)
    throw new InvalidOptionError("host", "needs a token, users or a userHeader if others can reach it", host);
  if (!Number.isFinite(sessionMs) || sessionMs < 1_000)
    throw new InvalidOptionError("sessionMs", "must be at least 1000", sessionMs);
  const basePath = withoutSlash(options.basePath);
  const urlOf = (token: string | undefined): string => {
    const { port: actual } = server.address() as AddressInfo;
    const shownHost = host.includes(":") ? `[${host.replaceAll(/[[\]]/g, "")}]` : host;
    return `http://${shownHost}:${actual}${basePath}/${token === undefined ? "" : `?token=${token}`}`;
  };
  const signIn =
    userHeader === undefined
      ? createSignIn({
          users,
          basePath,
          mountPath: withoutSlash(options.mountPath ?? basePath),
          // Port 0 is known only when the server listens.
          cookieName: () => cookieNameOf((server.address() as AddressInfo).port),
          sessionMs,
          onNewToken: (token) => options.onNewUrl?.(urlOf(token)),
          now: () => Date.now(),
        })
      : undefined;
  const mounts = createMounts(
    {
      ...options,
      // DNS rebinding: the name of another site can point to this machine.
      allowedHosts: isLoopback(host) ? [...loopbackHosts, ...(allowedHosts ?? [])] : allowedHosts,
    },
    signIn?.authorize ?? byHeader(userHeader!),
    signIn === undefined ? undefined : `${basePath}/sign-out`,
  );

  const answer = async (request: Request): Promise<Response> => {
    const own = await signIn?.answer(request).catch((error: unknown) => {
      if (!(error instanceof HttpError)) throw error;
      return plainPage({ status: error.status, title: error.message, paragraphs: [error.hint ?? ""] });
    });
    if (own !== undefined) return own;
    const response = await mounts.find(request).fetch(request);
    return response.status === 401 && signIn !== undefined && isVisit(request) ? signIn.refuse() : response;
  };

  const listener = toNodeListener({ fetch: answer });
  const server = createServer((message, response) => void listener(message, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    url: urlOf(signIn?.token()),
    close: async () => {
      await mounts.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
};
