import { describeJobTypes, InvalidOptionError } from "leasehold";
import { type AnyStateAdapter, type OptionNames, requireOptions } from "leasehold/adapter";
import { hideActions, hideStoredActions } from "./actions/hide.ts";
import { createActions } from "./actions/run.ts";
import { type Assets, toAssets } from "./http/assets.ts";
import type { AnyLeasehold } from "./http/leasehold.ts";
import { type Authorize, createRedactor, type RedactRule } from "./http/rights.ts";
import { createCauses } from "./numbers/causes.ts";
import { createDoctor } from "./numbers/doctor.ts";
import { createBehindSince } from "./numbers/read-summary.ts";
import { createHandler } from "./routes/handler.ts";
import type { Environment } from "./routes/route.ts";

/** A Leasehold with any job types. */
export interface OperatedLeasehold {
  readonly jobs: {
    // oxlint-disable-next-line typescript/no-explicit-any -- the types of arguments depend on the job types
    list(options?: any): Promise<unknown>;
  };
  close(): Promise<void>;
}

/** Options of `createDashboard`. */
export interface DashboardOptions {
  /** The Leasehold whose jobs are shown. It stays open when the dashboard is closed. */
  readonly leasehold: OperatedLeasehold;
  /** The state adapter that this Leasehold was created with. */
  readonly stateAdapter: AnyStateAdapter;
  /**
   * Returns the user of a request and their rights. It is called for every request. A false value refuses the request; `true` lets
   * an anonymous user read, without payloads.
   */
  readonly authorize: Authorize;
  /** Where the page is, as the browser sees it, such as `/ops/jobs`. Default: the root. */
  readonly basePath?: string | undefined;
  /** Where requests arrive, if a proxy removes part of the path before. Default: `basePath`. */
  readonly mountPath?: string | undefined;
  /** Refuses every action, whatever `authorize` says. Default: false. */
  readonly readOnly?: boolean | undefined;
  /** Hides more than the keys that look like secrets, or shows some of them. */
  readonly redact?: RedactRule | undefined;
  /** Shown on every page, so that this installation is not mistaken for another one. */
  readonly environment?: Environment | undefined;
  /** The address of the trace of a job. */
  readonly traceUrl?: ((job: { readonly id: string }) => string | undefined) | undefined;
  /** Types that are completed from outside: their jobs may wait without a worker. Default: none. */
  readonly workerless?: Iterable<string> | undefined;
  /** The host names that requests may have. Default: any. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** A dashboard to mount in a server of yours. */
export interface Dashboard {
  /** Answers a request. It never rejects. */
  fetch(request: Request): Promise<Response>;
  /**
   * Ends open streams, refuses further requests, and releases the actions that run here, each after the portion under way. The
   * next dashboard on this store continues them. Idempotent.
   */
  close(): Promise<void>;
}

/** The page, which is loaded with the first request for it. Undefined where it was not built. */
const loadPage = (basePath: string): (() => Promise<Assets | undefined>) => {
  let loading: Promise<Assets | undefined> | undefined;
  return () =>
    (loading ??= import("../dist/page.js").then(
      ({ files }) => toAssets(files, basePath),
      () => undefined,
    ));
};

const readPath = (option: string, path: string): string => {
  if (!/^(\/[\w.~-]+)*\/?$/.test(path))
    throw new InvalidOptionError(
      option,
      "must be a path such as /ops/jobs, of letters, digits, -, _, . and ~",
      path,
    );
  return path.replace(/\/$/, "");
};

const known: OptionNames<keyof DashboardOptions> = {
  leasehold: true,
  stateAdapter: true,
  authorize: true,
  basePath: true,
  mountPath: true,
  readOnly: true,
  redact: true,
  environment: true,
  traceUrl: true,
  workerless: true,
  allowedHosts: true,
};

const requireMethod = (value: unknown, method: string, option: string, expectation: string): void => {
  const isRight = typeof (value as Record<string, unknown> | null | undefined)?.[method] === "function";
  if (!isRight) throw new InvalidOptionError(option, expectation, typeof value);
};

/** The dashboard of a store on the same server. */
export interface StoreLink extends Environment {
  readonly path: string;
}

/** What a server of its own adds to the page. */
export interface Surroundings {
  /** Where to send a request that signs out. */
  readonly signOutPath?: string | undefined;
  /** All stores of the server, this one too. */
  readonly stores?: readonly StoreLink[] | undefined;
}

/** The dashboard within a server of its own. */
export const createDashboardWithin = (
  passed: DashboardOptions,
  { signOutPath, stores = [] }: Surroundings,
): Dashboard => {
  const options = requireOptions(passed, "createDashboard", known) as unknown as DashboardOptions;
  const {
    leasehold,
    stateAdapter,
    authorize,
    basePath = "",
    readOnly = false,
    redact,
    allowedHosts,
  } = options;
  requireMethod(leasehold, "startJobSequence", "leasehold", "must be what createLeasehold returns");
  requireMethod(stateAdapter, "commitOutcomes", "stateAdapter", "must be the state adapter of the Leasehold");
  if (typeof authorize !== "function")
    throw new InvalidOptionError(
      "authorize",
      "must be a function that returns the user of a request: without it all requests would be refused",
      typeof authorize,
    );
  const base = readPath("basePath", basePath);
  const operated = hideActions(leasehold as unknown as AnyLeasehold);
  const store = hideStoredActions(stateAdapter);
  const now = async (): Promise<number> => (await operated.getTime()).getTime();
  return createHandler({
    services: {
      leasehold: operated,
      original: leasehold,
      stateAdapter: store,
      jobTypes: describeJobTypes(leasehold),
      redact: createRedactor(redact),
      actions: createActions({ leasehold: operated, original: leasehold, stateAdapter, readOnly }),
      doctor: createDoctor({ stateAdapter: store, workerless: new Set(options.workerless), now }),
      findBehindSince: createBehindSince(operated),
      readCauses: createCauses(operated),
      environment: options.environment ?? null,
      signOutPath: signOutPath ?? null,
      stores: stores.map((store) => ({ ...store, isThis: store.path === base })),
      traceUrl: options.traceUrl,
      now,
    },
    authorize,
    readOnly,
    basePath: base,
    mountPath: readPath("mountPath", options.mountPath ?? base),
    allowedHosts: allowedHosts?.map((host) => host.toLowerCase()),
    loadAssets: loadPage(base),
  });
};

/** A web page for operators, as a function from requests to responses. */
export const createDashboard = (options: DashboardOptions): Dashboard => createDashboardWithin(options, {});
