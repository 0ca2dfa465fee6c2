import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { InvalidOptionError } from "leasehold";
import { createDashboard, type DashboardOptions } from "./create-dashboard.ts";
import { toNodeListener } from "./node-listener.ts";
import { type Authorize, rights } from "./server/rights.ts";
import { createSignIn } from "./server/sign-in.ts";

export interface StandaloneOptions extends Omit<DashboardOptions, "authorize" | "mountPath"> {
  /** Default: 7878; 0 for any that is free. */
  readonly port?: number | undefined;
  /** Where to listen. Anything but a loopback address needs `token` or `userHeader`. Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** What signs browsers in, again and again. Default: a random one, which is in `url` and signs in one browser, once. */
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

const byHeader =
  (header: string): Authorize =>
  ({ headers }) => {
    const user = headers.get(header);
    return user === null || user === "" ? null : { user, can: rights };
  };

/** The dashboard as a server of its own. Whoever has signed in with the token may do everything. */
export const startDashboard = async (options: StandaloneOptions): Promise<StandaloneDashboard> => {
  const { port = 7878, host = "127.0.0.1", token: given, userHeader, ...rest } = options;
  const isLoopback = loopbackHosts.includes(host);
  if (!isLoopback && given === undefined && userHeader === undefined)
    throw new InvalidOptionError("host", "needs a token or a userHeader if others can reach it", host);
  const basePath = rest.basePath?.replace(/\/$/, "") ?? "";
  const signIn = userHeader === undefined ? createSignIn(given, basePath) : undefined;
  const dashboard = createDashboard({
    ...rest,
    authorize: signIn?.authorize ?? byHeader(userHeader!),
    // A page of another site can have its name lead to this machine.
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
