import {
  type BaseStateAdapterContext,
  type CheckedRetryConfig,
  InvalidOptionError,
  type OptionNames,
  readRetryConfig,
  requireOptions,
  type RetryConfig,
} from "leasehold/adapter";
import { checkCollectionPrefix } from "./database/collections.ts";
import type { MongoStateProvider } from "./database/provider.ts";

/** Options of `createMongoStateAdapter`. */
export interface MongoStateAdapterOptions<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
  TJobId extends string = string,
> {
  readonly stateProvider: MongoStateProvider<TTxContext, TContext>;
  /** Goes before the name of every collection. Default: `leasehold_`. */
  readonly collectionPrefix?: string | undefined;
  /** Makes the ids of new jobs, unless `createLeasehold` has a `createId`. Default: UUIDv7. */
  readonly idGenerator?: (() => TJobId) | undefined;
  /** Whether to make missing indexes now; otherwise call `migrate` yourself. Default: true. */
  readonly migrate?: boolean | undefined;
  /** For the first contact, when indexes are made. Later calls are retried as `storeRetry` of Leasehold says. */
  readonly connectionRetryConfig?: RetryConfig | undefined;
  /** Says which other errors are transient, so that the call may be retried. */
  readonly isTransientError?: ((error: unknown) => boolean) | undefined;
}

const knownOptions: OptionNames<keyof MongoStateAdapterOptions<never, never>> = {
  stateProvider: true,
  collectionPrefix: true,
  idGenerator: true,
  migrate: true,
  connectionRetryConfig: true,
  isTransientError: true,
};

const providerMethods = [
  "getDatabase",
  "getSession",
  "provideContext",
  "runInTransaction",
  "isInTransaction",
];

const checkProvider = (provider: unknown): void => {
  const methods = (provider ?? {}) as Record<string, unknown>;
  if (providerMethods.every((name) => typeof methods[name] === "function")) return;
  throw new InvalidOptionError(
    "stateProvider",
    "must be a provider, such as createMongoStateProvider({ client }) returns",
    typeof provider,
  );
};

const checkFunction = (option: string, value: unknown): void => {
  if (value !== undefined && typeof value !== "function") {
    throw new InvalidOptionError(option, "must be a function", value);
  }
};

/** Checks everything before anything is sent. */
export const readOptions = <
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
  TJobId extends string,
>(
  passed: MongoStateAdapterOptions<TTxContext, TContext, TJobId>,
): {
  readonly provider: MongoStateProvider<TTxContext, TContext>;
  readonly collectionPrefix: string;
  readonly idGenerator: (() => TJobId) | undefined;
  readonly migrates: boolean;
  readonly retryConfig: CheckedRetryConfig;
  readonly isTransientToo: ((error: unknown) => boolean) | undefined;
} => {
  const options = requireOptions(passed, "createMongoStateAdapter", knownOptions) as typeof passed;
  const { stateProvider, collectionPrefix = "leasehold_", idGenerator, migrate = true } = options;
  checkProvider(stateProvider);
  checkFunction("idGenerator", idGenerator);
  checkFunction("isTransientError", options.isTransientError);
  if (typeof migrate !== "boolean") throw new InvalidOptionError("migrate", "must be true or false", migrate);
  return {
    provider: stateProvider,
    collectionPrefix: checkCollectionPrefix(collectionPrefix),
    idGenerator,
    migrates: migrate,
    retryConfig: readRetryConfig(options.connectionRetryConfig),
    isTransientToo: options.isTransientError,
  };
};
