import type { Fields, Schema } from "./fields.ts";
import type { Right, Viewer } from "./rights.ts";
import type { Services } from "./services.ts";

export interface RouteRequest<TQuery, TBody> {
  /** The parts of the path that the route names, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: TQuery;
  readonly body: TBody;
  readonly viewer: Viewer;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/**
 * One thing that can be asked for. The same table routes, checks rights, validates, and describes itself as OpenAPI: a route
 * that says nothing about rights does not compile.
 */
export interface Route {
  readonly method: "GET" | "POST";
  /** Below `api/v1/`; a part that begins with a colon is a parameter. */
  readonly path: string;
  readonly needs: Right;
  readonly summary: string;
  readonly query: Fields<Record<string, unknown>>;
  readonly body: Fields<Record<string, unknown>> | undefined;
  readonly answer: Schema;
  /** Asks the store for much: few at a time for each person. */
  readonly isExpensive: boolean;
  /** Its answer is the same for everybody who may read, and the page can be told of it as it changes. */
  readonly isTopic: boolean;
  handle(services: Services, request: RouteRequest<never, never>): Promise<unknown>;
}

interface RouteDefinition<TQuery, TBody> {
  readonly path: string;
  readonly needs: Right;
  readonly summary: string;
  readonly query?: Fields<TQuery>;
  readonly body?: Fields<TBody>;
  readonly answer: Schema;
  readonly isExpensive?: boolean;
  readonly isTopic?: boolean;
  handle(services: Services, request: RouteRequest<TQuery, TBody>): Promise<unknown>;
}

const defineRoute = <TQuery, TBody>(
  method: Route["method"],
  definition: RouteDefinition<TQuery, TBody>,
): Route => ({
  isExpensive: false,
  isTopic: false,
  ...definition,
  method,
  query: definition.query ?? {},
  body: definition.body,
  handle: definition.handle,
});

/** A route that reads. */
export const get = <TQuery = object>(definition: RouteDefinition<TQuery, undefined>): Route =>
  defineRoute("GET", definition);

/** A route that acts, or that reads what is too long for an address. */
export const post = <TBody, TQuery = object>(
  definition: RouteDefinition<TQuery, TBody> & { readonly body: Fields<TBody> },
): Route => defineRoute("POST", definition);
