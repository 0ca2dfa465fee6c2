import type { JobTypeDescription } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import type { Actions } from "../actions/run.ts";
import type { Answer, Fields, Schema } from "../http/fields.ts";
import type { AnyLeasehold } from "../http/leasehold.ts";
import type { Redactor, Right, Viewer } from "../http/rights.ts";
import type { ReadCauses } from "../numbers/causes.ts";
import type { Doctor } from "../numbers/doctor.ts";
import type { FindBehindSince } from "../numbers/read-summary.ts";

/** What the routes work with. */
export interface Services {
  readonly leasehold: AnyLeasehold;
  /** The one that was passed to `createDashboard`. */
  readonly original: object;
  readonly stateAdapter: AnyStateAdapter;
  /** The job types of the program that created the dashboard. */
  readonly jobTypes: ReadonlyMap<string, JobTypeDescription>;
  readonly redact: Redactor;
  readonly actions: Actions;
  readonly doctor: Doctor;
  readonly findBehindSince: FindBehindSince;
  readonly readCauses: ReadCauses;
  readonly environment: Environment | null;
  /** Where to send a request that signs out; null if the application does that. */
  readonly signOutPath: string | null;
  /** The stores of the server, if it has several. */
  readonly stores: readonly (Environment & { readonly path: string; readonly isThis: boolean })[];
  readonly traceUrl: ((job: { readonly id: string }) => string | undefined) | undefined;
  /** The store's clock, in milliseconds. */
  now(): Promise<number>;
}

/** Names the installation, so that it is not mistaken for another one. */
export interface Environment {
  readonly label: string;
  readonly tone: "neutral" | "warning" | "danger";
}

export interface RouteRequest<TQuery, TBody> {
  /** The parts of the path that the route names, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: TQuery;
  readonly body: TBody;
  readonly viewer: Viewer;
  /** Aborted when the client has disconnected or the deadline has passed. */
  readonly signal: AbortSignal;
}

/**
 * One route. The same table is used for routing, rights, validation and the OpenAPI description. A route without a right does not
 * compile.
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
  /** Its reads are expensive, so each user may have few of them at a time. */
  isExpensive(query: never): boolean;
  /** Its answer is the same for all viewers, and is reused for some seconds. */
  readonly isShared: boolean;
  /** Its answer is the same for all viewers, and the page can subscribe to it. */
  readonly isTopic: boolean;
  handle(services: Services, request: RouteRequest<never, never>): Promise<unknown>;
}

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
