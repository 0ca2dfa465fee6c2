import {
  type Clock,
  InvalidOptionError,
  type OptionNames,
  requireNestedOptions,
  requireOptions,
} from "leasehold/adapter";
import type { ConnectionRetryConfig } from "./database/busy-retry.ts";
import type { SqliteStateProvider } from "./database/provider.ts";
import type { SqliteDriver } from "./providers/drivers.ts";

interface CommonOptions<TJobId extends string> {
  /** The prefix of every table and index. Default: `leasehold_`; may be empty. */
  readonly tablePrefix?: string | undefined;
  /** The SQL type of columns with job ids. Default: `TEXT`. */
  readonly idType?: string | undefined;
  /** Makes the ids of new jobs, unless `createLeasehold` has a `createId`. Default: UUIDv7. */
  readonly idGenerator?: (() => TJobId) | undefined;
  /** How to wait for a lock that another process holds. */
  readonly connectionRetryConfig?: Partial<ConnectionRetryConfig> | undefined;
  /** Returns true for further errors that are transient, so that the call may be retried. */
  readonly isTransientError?: ((error: unknown) => boolean) | undefined;
  /** Whether to bring the tables up to date now. Default: true. */
  readonly migrate?: boolean | undefined;
  /** The write-ahead log is truncated when it is larger than this. Default: 32 MiB. */
  readonly maxWalBytes?: number | undefined;
  /** The store's clock. Default: the system clock. */
  readonly clock?: Pick<Clock, "now"> | undefined;
}

/** Options of `createSqliteStateAdapter` with a provider. */
export interface SqliteProviderOptions<
  TContext extends object,
  TJobId extends string = string,
> extends CommonOptions<TJobId> {
  readonly stateProvider: SqliteStateProvider<TContext>;
}

/** Options of `createSqliteStateAdapter` with a file. */
export interface SqliteFileOptions<TJobId extends string = string> extends CommonOptions<TJobId> {
  /** The database file, created if it does not exist. `:memory:` is a database that ends with the process. */
  readonly file: string;
  /** Default: `node:sqlite` where the runtime has it, from Node 22.13 on. Otherwise `libsql`. */
  readonly driver?: SqliteDriver | undefined;
}

export type AnySqliteOptions = SqliteFileOptions & SqliteProviderOptions<object>;

const knownOptions: OptionNames<keyof AnySqliteOptions> = {
  file: true,
  driver: true,
  stateProvider: true,
  tablePrefix: true,
  idType: true,
  idGenerator: true,
  connectionRetryConfig: true,
  isTransientError: true,
  migrate: true,
  maxWalBytes: true,
  clock: true,
};

export const readOptions = (passed: unknown): Partial<AnySqliteOptions> =>
  requireOptions(passed, "createSqliteStateAdapter", knownOptions) as Partial<AnySqliteOptions>;

const readNumber = (value: unknown, option: string, fallback: number, min: number): number => {
  if (value === undefined) return fallback;
  if (typeof value !== "number" || !Number.isFinite(value) || value < min) {
    throw new InvalidOptionError(option, `must be a number of at least ${min}`, value);
  }
  return value;
};

export const readRetryConfig = (value: Partial<ConnectionRetryConfig> | undefined): ConnectionRetryConfig => {
  const { initialDelayMs, maxDelayMs, maxWaitMs } = requireNestedOptions<keyof ConnectionRetryConfig>(
    value ?? {},
    "connectionRetryConfig",
    { initialDelayMs: true, maxDelayMs: true, maxWaitMs: true },
  );
  return {
    initialDelayMs: readNumber(initialDelayMs, "connectionRetryConfig.initialDelayMs", 1, 0.1),
    maxDelayMs: readNumber(maxDelayMs, "connectionRetryConfig.maxDelayMs", 20, 1),
    maxWaitMs: readNumber(maxWaitMs, "connectionRetryConfig.maxWaitMs", 8_000, 0),
  };
};

// Well above the size at which SQLite restarts the log, about 4 MB.
const defaultWalBytes = 32 * 1024 * 1024;

export const readWalBytes = (value: unknown): number =>
  readNumber(value, "maxWalBytes", defaultWalBytes, 64 * 1024);

/** Ids are text. A column type with another affinity would turn "007" into 7. */
export const readIdType = (value: unknown): string => {
  if (value === undefined) return "TEXT";
  const isTextType =
    typeof value === "string" &&
    /^[A-Za-z]{1,30}(?:\([0-9]{1,4}\))?$/.test(value) &&
    /char|clob|text/i.test(value) &&
    !/int/i.test(value);
  if (!isTextType) {
    throw new InvalidOptionError(
      "idType",
      "must be an SQL type for text, such as TEXT or VARCHAR(64)",
      value,
    );
  }
  return value;
};

export const readFunction = <TFunction extends (...parameters: never[]) => unknown>(
  value: TFunction | undefined,
  option: string,
): TFunction | undefined => {
  if (value !== undefined && typeof value !== "function") {
    throw new InvalidOptionError(option, "must be a function", value);
  }
  return value;
};

export const readFlag = (value: unknown, option: string, fallback: boolean): boolean => {
  if (value === undefined) return fallback;
  if (typeof value !== "boolean") throw new InvalidOptionError(option, "must be true or false", value);
  return value;
};
