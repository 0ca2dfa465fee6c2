import type { BaseStateAdapterContext, RetryConfig } from "leasehold/adapter";
import type { PgStateProvider } from "./database/provider.ts";

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
  readonly connectionRetryConfig?: RetryConfig | undefined;
  /** Decides about errors that the built-in rules do not know. It cannot make a transient error permanent. */
  readonly isTransientError?: ((error: unknown) => boolean) | undefined;
}
