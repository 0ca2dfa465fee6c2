import { createHmac, randomBytes } from "node:crypto";
import { assertOwnOrigin, readText, securityHeaders } from "../http/guard.ts";
import { plainPage } from "../http/page.ts";
import { type Authorize, rights } from "../http/rights.ts";
import { type DashboardUser, isSame } from "./users.ts";

export interface SignIn {
  readonly authorize: Authorize;
  /** The token in the address that is printed; undefined if each user has one. */
  readonly token: () => string | undefined;
  /** The response to a request that signs in or out; undefined for all others. */
  answer(request: Request): Promise<Response | undefined>;
  /** The page for a person who is not signed in. */
  refuse(): Response;
}

export interface SignInOptions {
  /** Undefined for a random token that works once. */
  readonly users: readonly DashboardUser[] | undefined;
  readonly basePath: string;
  readonly mountPath: string;
  readonly cookieName: () => string;
  readonly sessionMs: number;
  /** The one-time token is used up and its session over: here is the next one. */
  onNewToken(token: string): void;
  now(): number;
}

interface Session {
  readonly user: DashboardUser;
  readonly id: string;
  readonly endsAt: number;
}

const randomToken = (): string => randomBytes(24).toString("base64url");

const readCookie = (header: string | null, cookieName: string): string | undefined => {
  for (const pair of (header ?? "").split(";")) {
    const [name, ...value] = pair.trim().split("=");
    if (name === cookieName) return value.join("=");
  }
  return undefined;
};

/** A browser may prefetch an address. That must not use up the token. */
const isPrefetch = ({ headers }: Request): boolean =>
  /prefetch|prerender/.test(`${headers.get("sec-purpose")} ${headers.get("purpose")}`);

const usedUp = [
  "This address has been used already: its token signs in one browser, once.",
  "Continue in the browser in which you opened it first, or end `leasehold dashboard` and start it again: it prints a new address.",
  "With `--token-file` the address can be used again and again.",
];

/**
 * Trades a token for a cookie that no script can read. A random token works once: an address stays in the history of a browser and
 * of a terminal. A token of a user is for repeated use.
 *
 * The cookie names its user and its end, signed with the user's token. So sessions outlast a restart, and a token that is replaced
 * ends the sessions of its user.
 */
export const createSignIn = (options: SignInOptions): SignIn => {
  const { users: given, basePath, mountPath, cookieName, sessionMs, onNewToken, now } = options;
  const makeOperator = (): DashboardUser => ({ name: "operator", token: randomToken(), can: rights });
  let users = given ?? [makeOperator()];
  /** The session of the one-time token, if that was used. */
  let only: Session | undefined;
  /** Sessions that were signed out, until they would have ended anyway. */
  const signedOut = new Map<string, number>();

  const sign = ({ token }: DashboardUser, text: string): string =>
    createHmac("sha256", token).update(`leasehold_dashboard ${text}`).digest("base64url");

  const findSession = ({ headers }: Request): Session | undefined => {
    const cookie = readCookie(headers.get("cookie"), cookieName())?.split(":") ?? [];
    const [name, ends, id, signature] = cookie;
    if (signature === undefined || cookie.length !== 4) return undefined;
    const user = users.find((one) => encodeURIComponent(one.name) === name);
    if (user === undefined || !isSame(signature, sign(user, `${name}:${ends}:${id}`))) return undefined;
    return { user, id: id!, endsAt: Number(ends) };
  };

  const findOpen = (request: Request): Session | undefined => {
    const session = findSession(request);
    return session === undefined || session.endsAt <= now() || signedOut.has(session.id)
      ? undefined
      : session;
  };

  const renewToken = (): void => {
    only = undefined;
    users = [makeOperator()];
    onNewToken(users[0]!.token);
  };

  const toCookie = (request: Request, value: string, maxAge: number): string => {
    // A proxy in front may speak TLS. A client that lies about it only keeps its own cookie from being sent.
    const isSecure = request.headers.get("x-forwarded-proto") === "https";
    const scope = `HttpOnly; SameSite=Strict; Path=${basePath || "/"}${isSecure ? "; Secure" : ""}`;
    return `${cookieName()}=${value}; Max-Age=${maxAge}; ${scope}`;
  };

  const toPage = (headers: Readonly<Record<string, string>>): Response =>
    new Response(null, {
      status: 303,
      headers: { ...securityHeaders, location: `${basePath}/`, "cache-control": "no-store", ...headers },
    });

  const open = (request: Request, user: DashboardUser): Response => {
    const endsAt = now() + sessionMs;
    const text = `${encodeURIComponent(user.name)}:${endsAt}:${randomBytes(9).toString("base64url")}`;
    const value = `${text}:${sign(user, text)}`;
    only = { user, id: text.split(":")[2]!, endsAt };
    return toPage({ "set-cookie": toCookie(request, value, Math.floor(sessionMs / 1_000)) });
  };

  const refuse = (): Response => {
    // The session of the one-time token has ended by its time.
    if (given === undefined && only !== undefined && only.endsAt <= now()) renewToken();
    return plainPage({
      status: 401,
      title: "You are not signed in",
      paragraphs:
        given === undefined
          ? [
              "Open the address that `leasehold dashboard` has printed in its terminal: it signs in one browser, once.",
              "Used already, or signed out? The terminal shows a new address after you have signed out or the session has ended. Otherwise end the command and start it again.",
            ]
          : ["Sign in with the token that you were given. It is in the file that `--token-file` names."],
      signInPath,
    });
  };

  const signInPath = given === undefined ? undefined : `${basePath}/sign-in`;

  const wrongToken = (): Response =>
    plainPage({
      status: 401,
      title: "That token is not known",
      paragraphs: ["Check that you have copied all of it. It may have been replaced by a new one."],
      signInPath,
    });

  const findUser = (token: string | null): DashboardUser | undefined =>
    users.find((user) => isSame(token ?? "", user.token));

  /** A program sends the token of its user with each request. A page of another site cannot: the header needs its consent. */
  const findBearer = ({ headers }: Request): DashboardUser | undefined => {
    const [, token] = /^Bearer (\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
    return token === undefined || given === undefined ? undefined : findUser(token);
  };

  const tradeAddress = (request: Request, token: string): Response | undefined => {
    const user = findUser(token);
    if (user === undefined || isPrefetch(request)) return undefined;
    if (findOpen(request) !== undefined) return toPage({});
    if (given === undefined && only !== undefined)
      return plainPage({ status: 401, title: "This address was used", paragraphs: usedUp });
    return open(request, user);
  };

  const signInByForm = async (request: Request): Promise<Response> => {
    assertOwnOrigin(request);
    const token = new URLSearchParams(await readText(request)).get("token");
    const user = given === undefined ? undefined : findUser(token);
    return user === undefined ? wrongToken() : open(request, user);
  };

  const signOut = (request: Request): Response => {
    assertOwnOrigin(request);
    const session = findOpen(request);
    for (const [id, endsAt] of signedOut) if (endsAt <= now()) signedOut.delete(id);
    if (session !== undefined) {
      signedOut.set(session.id, session.endsAt);
      if (given === undefined) renewToken();
    }
    return new Response(null, {
      status: 204,
      headers: { ...securityHeaders, "cache-control": "no-store", "set-cookie": toCookie(request, "", 0) },
    });
  };

  return {
    token: () => (given === undefined || given.length === 1 ? users[0]!.token : undefined),
    authorize: (request) => {
      const user = findOpen(request)?.user ?? findBearer(request);
      return user === undefined ? null : { user: user.name, can: user.can };
    },
    answer: async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (request.method === "POST" && pathname === `${mountPath}/sign-in`) return signInByForm(request);
      if (request.method === "POST" && pathname === `${mountPath}/sign-out`) return signOut(request);
      const token = searchParams.get("token");
      return request.method === "GET" && token !== null ? tradeAddress(request, token) : undefined;
    },
    refuse,
  };
};
