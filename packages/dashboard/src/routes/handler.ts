import { LeaseholdError, StoreCallTimeoutError } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import type { Assets } from "../http/assets.ts";
import { chooseEncoding, compressJson } from "../http/compress.ts";
import { badRequest, HttpError, notFound } from "../http/errors.ts";
import { listOf, parseFields, parseQuery, text } from "../http/fields.ts";
import { assertHost, assertOwnRequest, createQuota, readBody, securityHeaders } from "../http/guard.ts";
import { createLifetimes } from "../http/lifetimes.ts";
import { createLive, createSharedAnswers } from "../http/live.ts";
import { isVisit, plainPage } from "../http/page.ts";
import { fromSegment } from "../http/path-segment.ts";
import { type Authorize, onlooker, toViewer, type Viewer } from "../http/rights.ts";
import { routes } from "./index.ts";
import { describeApi } from "./openapi.ts";
import type { Route, Services } from "./route.ts";

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** The parts of a path. A malformed path is refused before it is routed. */
const splitPath = (path: string): string[] => {
  try {
    return path.split("/").filter(Boolean).map(fromSegment);
  } catch {
    throw badRequest("The path is malformed.");
  }
};

const matchParts = (
  pattern: readonly string[],
  parts: readonly string[],
): Record<string, string> | undefined => {
  if (pattern.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, name] of pattern.entries()) {
    const part = parts[index]!;
    if (name.startsWith(":")) params[name.slice(1)] = part;
    else if (name !== part) return undefined;
  }
  return params;
};

const createRouter = (routes: readonly Route[]): ((method: string, parts: readonly string[]) => Match) => {
  const patterns = routes.map((route) => ({ route, pattern: route.path.split("/").filter(Boolean) }));
  return (method, parts) => {
    const matches = patterns.flatMap(({ route, pattern }) => {
      const params = matchParts(pattern, parts);
      return params === undefined ? [] : [{ route, params }];
    });
    if (matches.length === 0) throw notFound("such address");
    const found = matches.find(({ route }) => route.method === method);
    if (found === undefined) {
      const allow = [...new Set(matches.map(({ route }) => route.method))].join(", ");
      throw new HttpError(405, "method_not_allowed", `${method} is not possible here.`, {
        headers: { allow },
      });
    }
    return found;
  };
};

export interface HandlerOptions {
  readonly services: Services;
  readonly authorize: Authorize;
  readonly readOnly: boolean;
  readonly basePath: string;
  readonly mountPath: string;
  readonly allowedHosts: readonly string[] | undefined;
  loadAssets(): Promise<Assets | undefined>;
}

const deadlineMs = 15_000;

const json = (value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(JSON.stringify(value), {
    status,
    headers: {
      ...securityHeaders,
      "cache-control": "no-store",
      "content-type": "application/json; charset=utf-8",
      ...headers,
    },
  });

const tooSlow = (): HttpError =>
  new HttpError(503, "too_slow", "The store did not answer in time.", {
    hint: "Try again, or narrow the filter.",
  });

/** Errors of the request itself. All others are conflicts with the state of jobs. */
const statuses: Readonly<Record<string, number>> = {
  InvalidOption: 400,
  SchemaValidation: 400,
  JobNotFound: 404,
  RecurringJobNotFound: 404,
};

/** Typed errors are written for people. Others may contain anything, such as the address of the database. */
const toHttpError = (error: unknown, { isTransientError }: AnyStateAdapter): HttpError => {
  if (error instanceof HttpError) return error;
  if (error instanceof StoreCallTimeoutError) return tooSlow();
  if (isTransientError(error))
    return new HttpError(503, "store_unavailable", "The store cannot be reached.", {
      hint: "The page keeps trying.",
    });
  if (!(error instanceof LeaseholdError))
    return new HttpError(500, "internal", "The server could not answer.");
  return new HttpError(statuses[error.code] ?? 409, error.code, error.message);
};

const errorBody = ({ code, message, hint }: HttpError): object => ({
  error: { code, message, ...(hint !== undefined && { hint }) },
});

/** Rejects when the client has disconnected or the deadline has passed. The answer of work that ends later is dropped. */
const whileWaitedFor = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> => {
  const over = new Promise<never>((_resolve, reject) => {
    const end = (): void => reject(tooSlow());
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
  return Promise.race([work, over]);
};

const assertMayRead = (viewer: Viewer): void => {
  if (!viewer.can.has("read")) throw new HttpError(403, "forbidden", 'This needs the right "read".');
};

/** From a request to a response, the same steps for every route. */
export const createHandler = (options: HandlerOptions) => {
  const { services, authorize, readOnly, basePath, mountPath, allowedHosts, loadAssets } = options;
  const route = createRouter(routes);
  const description = describeApi(routes, basePath);
  const expensive = createQuota({ most: 2, mostWaiting: 8 });
  const shared = createSharedAnswers({ keptMs: 5_000, most: 50 });
  const lifetimes = createLifetimes();
  const live = createLive({
    explain: (error) => errorBody(toHttpError(error, services.stateAdapter)),
    topics: Object.fromEntries(
      routes
        .filter(({ isTopic }) => isTopic)
        .map(({ path, handle }) => [
          path,
          () =>
            lifetimes.during({ ms: deadlineMs }, (signal) => {
              const nothing = { params: {}, query: {} as never, body: undefined as never };
              return whileWaitedFor(signal, handle(services, { ...nothing, viewer: onlooker, signal }));
            }),
        ]),
    ),
  });

  const identify = async (request: Request): Promise<Viewer> => {
    const viewer = toViewer(await authorize(request), readOnly);
    if (viewer === undefined)
      throw new HttpError(401, "not_signed_in", "You are not signed in.", {
        hint: "Sign in to the application that serves this page, then reload it.",
      });
    return viewer;
  };

  const findParts = (pathname: string): string[] => {
    const isBelow = pathname === mountPath || pathname.startsWith(`${mountPath}/`);
    if (!isBelow) throw notFound("such address");
    return splitPath(pathname.slice(mountPath.length));
  };

  const callRoute = async (
    found: { readonly route: Route; readonly params: Readonly<Record<string, string>> },
    request: Request,
    url: URL,
    viewer: Viewer,
  ): Promise<Response> => {
    const { path, needs, query, body, isExpensive, isShared, handle } = found.route;
    assertMayRead(viewer);
    if (!viewer.can.has(needs)) throw new HttpError(403, "forbidden", `This needs the right "${needs}".`);
    if (found.route.method === "POST") assertOwnRequest(request);
    const parsed = {
      params: found.params,
      query: parseQuery(query, url.searchParams) as never,
      body: (body === undefined ? undefined : parseFields(body, await readBody(request))) as never,
    };
    /** Shared by several requests, so it does not end with the first one. */
    const askForAll = (): Promise<unknown> =>
      lifetimes.during({ ms: deadlineMs }, (signal) =>
        whileWaitedFor(signal, handle(services, { ...parsed, viewer: onlooker, signal })),
      );
    return lifetimes.during({ until: request.signal, ms: deadlineMs }, async (signal) => {
      const ask = (): Promise<unknown> =>
        isShared
          ? shared.get(JSON.stringify([path, parsed.params, parsed.query]), askForAll)
          : handle(services, { ...parsed, viewer, signal });
      // The quota counts work until it ends, also work that no client waits for any more.
      const work = isExpensive(parsed.query) ? expensive.run(viewer.user, signal, ask) : ask();
      return json(await whileWaitedFor(signal, work));
    });
  };

  const openStream = (request: Request, url: URL): Response => {
    const { topic } = parseQuery({ topic: listOf(text(), { max: 10 }) }, url.searchParams);
    const mayStay = async (): Promise<boolean> => (await identify(request)).can.has("read");
    return new Response(live.open(topic, request.signal, mayStay), {
      headers: {
        ...securityHeaders,
        "cache-control": "no-store",
        "content-type": "text/event-stream; charset=utf-8",
        "x-accel-buffering": "no",
      },
    });
  };

  const callApi = async (request: Request, url: URL, parts: string[], viewer: Viewer): Promise<Response> => {
    if (parts.join("/") === "openapi.json" && request.method === "GET") {
      assertMayRead(viewer);
      return json(description);
    }
    if (parts.join("/") === "v1/events" && request.method === "GET") {
      assertMayRead(viewer);
      return openStream(request, url);
    }
    if (parts[0] !== "v1") throw notFound("such address");
    return callRoute(route(request.method, parts.slice(1)), request, url, viewer);
  };

  /** A path that is no file belongs to the page, which routes it in the browser. */
  const serveFile = async (request: Request, parts: readonly string[]): Promise<Response> => {
    if (request.method !== "GET")
      throw new HttpError(405, "method_not_allowed", `${request.method} is not possible here.`, {
        headers: { allow: "GET" },
      });
    const assets = await loadAssets();
    const asset =
      assets?.get(parts.join("/")) ?? (parts[0] === "assets" ? undefined : assets?.get("index.html"));
    if (asset === undefined) throw notFound("such file");
    const cache = asset.isImmutable ? "public, max-age=31536000, immutable" : "no-store";
    const encoding = chooseEncoding(request);
    return new Response(await asset.body(encoding), {
      headers: {
        ...securityHeaders,
        "cache-control": cache,
        "content-type": asset.type,
        vary: "accept-encoding",
        ...(encoding !== undefined && { "content-encoding": encoding }),
      },
    });
  };

  const answer = async (request: Request): Promise<Response> => {
    if (lifetimes.isClosed) throw new HttpError(503, "closed", "The dashboard has been closed.");
    const url = new URL(request.url);
    assertHost(request.headers.get("host") ?? url.host, allowedHosts);
    const parts = findParts(url.pathname);
    const viewer = await identify(request);
    return parts[0] === "api" ? callApi(request, url, parts.slice(1), viewer) : serveFile(request, parts);
  };

  return {
    fetch: async (request: Request): Promise<Response> => {
      try {
        const response = await answer(request);
        const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
        return isJson ? await compressJson(request, response) : response;
      } catch (error) {
        const answered = toHttpError(error, services.stateAdapter);
        const { status, message, hint, headers } = answered;
        if (!isVisit(request)) return json(errorBody(answered), status, headers);
        const paragraphs = hint === undefined ? [] : [hint];
        return plainPage({ status, title: message, paragraphs, headers });
      }
    },
    close: async (): Promise<void> => {
      lifetimes.close();
      live.close();
      await services.actions.close();
    },
  };
};
