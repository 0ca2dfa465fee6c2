import { type BaseStateAdapterContext, InvalidOptionError, requireNestedOptions } from "leasehold/adapter";
import type { PgStateProvider } from "./database/provider.ts";

/** How long to wait for a server that is not there yet. */
export interface ConnectionRetryConfig {
  /** How often to try, including the first time. Default: 5. */
  readonly maxAttempts?: number | undefined;
  /** The delay after the first attempt; it doubles with each further one. Default: 200. */
  readonly initialDelayMs?: number | undefined;
  /** The longest delay between two attempts. Default: 5,000. */
  readonly maxDelayMs?: number | undefined;
}

export interface PgStateAdapterOptions<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> {
  readonly stateProvider: PgStateProvider<TTxContext, TContext>;
  /**
   * A provider for a replica. It answers lists, counts and statistics, which then lag by as much as the replica does, and
   * looks after sequences that somebody waits for. Default: the primary answers everything.
   */
  readonly readProvider?: PgStateProvider<BaseStateAdapterContext, BaseStateAdapterContext> | undefined;
  /** Where the tables are. Each schema is a store of its own. Default: "leasehold". */
  readonly schema?: string | undefined;
  /** The SQL type of ids. Default: "uuid". */
  readonly idType?: string | undefined;
  /** The default of the id column, for rows that are not written by Leasehold. Default: "gen_random_uuid()". */
  readonly idDefault?: string | undefined;
  /** Whether to bring the schema up to date now; otherwise call `migrate` yourself. Default: true. */
  readonly migrate?: boolean | undefined;
  /** For connecting at creation. Later calls are retried as `storeRetry` of Leasehold says. */
  readonly connectionRetryConfig?: ConnectionRetryConfig | undefined;
  /** Decides about errors that the built-in rules do not know. It cannot make a transient error permanent. */
  readonly isTransientError?: ((error: unknown) => boolean) | undefined;
}

// Timers cannot wait longer; they would fire at once.
const longestDelayMs = 2 ** 31 - 1;

export const checkRetryConfig = (
  passed: unknown = {},
): { readonly [TOption in keyof ConnectionRetryConfig]-?: number } => {
  const config = requireNestedOptions<keyof ConnectionRetryConfig>(passed, "connectionRetryConfig", {
    maxAttempts: true,
    initialDelayMs: true,
    maxDelayMs: true,
  });
  const read = (option: keyof ConnectionRetryConfig, usual: number, least: number): number => {
    const { [option]: value = usual } = config;
    if (!Number.isInteger(value) || Number(value) < least || Number(value) > longestDelayMs) {
      const range = `must be a whole number from ${least} to ${longestDelayMs}`;
      throw new InvalidOptionError(`connectionRetryConfig.${option}`, range, value);
    }
    return Number(value);
  };
  return {
    maxAttempts: read("maxAttempts", 5, 1),
    initialDelayMs: read("initialDelayMs", 200, 0),
    maxDelayMs: read("maxDelayMs", 5_000, 0),
  };
};
