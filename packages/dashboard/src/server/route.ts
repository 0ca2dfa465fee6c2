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
  isExpensive(query: never): boolean;
  /** Its answer is the same for everybody who may read, and serves those who ask the same within seconds. */
  readonly isShared: boolean;
  /** Its answer is the same for everybody who may read, and the page can be told of it as it changes. */
  readonly isTopic: boolean;
  handle(services: Services, request: RouteRequest<never, never>): Promise<unknown>;
}

declare const answered: unique symbol;

/**
 * The schema of an answer, which knows the type of the answer: one that allows more or less than the type does not compile. It
 * is made with the functions of routes/answers.ts.
 */
export type Answer<T> = Schema & { readonly [answered]: (answer: T) => T };

interface RouteDefinition<TQuery, TBody, TAnswer> {
  readonly path: string;
  readonly needs: Right;
  readonly summary: string;
  readonly query?: Fields<TQuery>;
  readonly body?: Fields<TBody>;
  readonly answer: Answer<TAnswer>;
  readonly isExpensive?: boolean | ((query: TQuery) => boolean);
  readonly isShared?: boolean;
  readonly isTopic?: boolean;
  handle(services: Services, request: RouteRequest<TQuery, TBody>): Promise<NoInfer<TAnswer>>;
}

const defineRoute = <TQuery, TBody, TAnswer>(
  method: Route["method"],
  definition: RouteDefinition<TQuery, TBody, TAnswer>,
): Route => ({
  isShared: false,
  isTopic: false,
  ...definition,
  isExpensive: (query) => {
    const { isExpensive = false } = definition;
    return typeof isExpensive === "function" ? isExpensive(query) : isExpensive;
  },
  method,
  query: definition.query ?? {},
  body: definition.body,
  handle: definition.handle,
});

/** A route that reads. */
export const get = <TQuery = object, TAnswer = unknown>(
  definition: RouteDefinition<TQuery, undefined, TAnswer>,
): Route => defineRoute("GET", definition);

/** A route that acts, or that reads what is too long for an address. */
export const post = <TBody, TQuery = object, TAnswer = unknown>(
  definition: RouteDefinition<TQuery, TBody, TAnswer> & { readonly body: Fields<TBody> },
): Route => defineRoute("POST", definition);
