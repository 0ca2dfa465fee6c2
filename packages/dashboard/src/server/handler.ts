import { LeaseholdError } from "leasehold";
import { routes } from "../routes/index.ts";
import type { Asset } from "./assets.ts";
import { listOf, parseFields, parseQuery, text } from "./fields.ts";
import { assertHost, assertOwnRequest, readBody, securityHeaders } from "./guard.ts";
import { HttpError, notFound } from "./http-error.ts";
import { describeApi } from "./openapi.ts";
import { createLive } from "./live.ts";
import { createQuota } from "./quota.ts";
import { type Authorize, toViewer, type Viewer } from "./rights.ts";
import type { Route } from "./route.ts";
import { createRouter, splitPath } from "./router.ts";
import type { Services } from "./services.ts";

export interface HandlerOptions {
  readonly services: Services;
  readonly authorize: Authorize;
  readonly readOnly: boolean;
  readonly basePath: string;
  readonly mountPath: string;
  readonly allowedHosts: readonly string[] | undefined;
  readonly assets: ReadonlyMap<string, Asset> | undefined;
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

const errorAnswer = (error: unknown): Response => {
  if (error instanceof HttpError) {
    const { status, code, message, hint, headers } = error;
    return json({ error: { code, message, ...(hint !== undefined && { hint }) } }, status, headers);
  }
  // Typed errors are written for people. Others may contain anything, such as the address of the database.
  if (error instanceof LeaseholdError)
    return json({ error: { code: error.code, message: error.message } }, 409);
  return json({ error: { code: "internal", message: "The server could not answer." } }, 500);
};

/** Rejects when the client has gone or the deadline has passed. The call itself goes on; its answer is dropped. */
const whileWaitedFor = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
  const over = new Promise<never>((_resolve, reject) => {
    const end = (): void =>
      reject(
        new HttpError(503, "too_slow", "The store did not answer in time.", {
          hint: "Try again, or narrow the filter.",
        }),
      );
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
  return Promise.race([work(), over]);
};

const assertMayRead = (viewer: Viewer): void => {
  if (!viewer.can.has("read")) throw new HttpError(403, "forbidden", "You may not look at this.");
};

/** From a request to a response, the same steps for every route. */
export const createHandler = (options: HandlerOptions) => {
  const { services, authorize, readOnly, basePath, mountPath, allowedHosts, assets } = options;
  const route = createRouter(routes);
  const description = describeApi(routes, basePath);
  const expensive = createQuota(2);
  const closing = new AbortController();
  // Made once for everybody, so it shows what everybody who may read can see.
  const onlooker: Viewer = { user: "", can: new Set(["read"]) };
  const live = createLive({
    topics: Object.fromEntries(
      routes
        .filter(({ isTopic }) => isTopic)
        .map(({ path, handle }) => [
          path,
          () =>
            handle(services, {
              params: {},
              query: {} as never,
              body: undefined as never,
              viewer: onlooker,
              signal: AbortSignal.any([closing.signal, AbortSignal.timeout(deadlineMs)]),
            }),
        ]),
    ),
  });

  const identify = async (request: Request): Promise<Viewer> => {
    const viewer = toViewer(await authorize(request), readOnly);
    if (viewer === undefined)
      throw new HttpError(401, "not_signed_in", "You are not signed in.", {
        hint: "Sign in, then reload the page.",
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
    const { needs, query, body, isExpensive, handle } = found.route;
    assertMayRead(viewer);
    if (!viewer.can.has(needs)) throw new HttpError(403, "forbidden", `This needs the right "${needs}".`);
    if (found.route.method === "POST") assertOwnRequest(request);
    const parsed = {
      params: found.params,
      query: parseQuery(query, url.searchParams) as never,
      body: (body === undefined ? undefined : parseFields(body, await readBody(request))) as never,
      viewer,
      signal: AbortSignal.any([request.signal, closing.signal, AbortSignal.timeout(deadlineMs)]),
    };
    const work = (): Promise<unknown> => whileWaitedFor(parsed.signal, () => handle(services, parsed));
    return json(await (isExpensive ? expensive.run(viewer.user, work) : work()));
  };

  const openStream = (request: Request, url: URL): Response => {
    const { topic } = parseQuery({ topic: listOf(text(), { max: 10 }) }, url.searchParams);
    const mayStay = async (): Promise<boolean> => (await identify(request)).can.has("read");
    const signal = AbortSignal.any([request.signal, closing.signal]);
    return new Response(live.open(topic, signal, mayStay), {
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

  /** A path that is no file is one of the page's own, which the page itself reads. */
  const serveFile = (request: Request, parts: readonly string[]): Response => {
    if (request.method !== "GET")
      throw new HttpError(405, "method_not_allowed", `${request.method} is not possible here.`, {
        headers: { allow: "GET" },
      });
    const asset =
      assets?.get(parts.join("/")) ?? (parts[0] === "assets" ? undefined : assets?.get("index.html"));
    if (asset === undefined) throw notFound("such file");
    const cache = asset.isImmutable ? "public, max-age=31536000, immutable" : "no-store";
    return new Response(asset.body, {
      headers: { ...securityHeaders, "cache-control": cache, "content-type": asset.type },
    });
  };

  const answer = async (request: Request): Promise<Response> => {
    if (closing.signal.aborted) throw new HttpError(503, "closed", "The dashboard has been closed.");
    const url = new URL(request.url);
    assertHost(request.headers.get("host") ?? url.host, allowedHosts);
    const parts = findParts(url.pathname);
    const viewer = await identify(request);
    return parts[0] === "api" ? callApi(request, url, parts.slice(1), viewer) : serveFile(request, parts);
  };

  return {
    fetch: async (request: Request): Promise<Response> => {
      try {
        return await answer(request);
      } catch (error) {
        return errorAnswer(error);
      }
    },
    close: async (): Promise<void> => {
      closing.abort();
      live.close();
    },
  };
};
