import type { BaseStateAdapterContext, RetryConfig } from "leasehold/adapter";
import type { PgStateProvider } from "./database/provider.ts";

/** Options of `createPgStateAdapter`. */
export interface PgStateAdapterOptions<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> {
  readonly stateProvider: PgStateProvider<TTxContext, TContext>;
  /**
   * A provider for a replica. Lists, counts, statistics and the polls of `waitForJobSequenceCompletion` read from it, and lag
   * behind by as much as the replica does. Default: all reads use the primary.
   */
  readonly readProvider?: PgStateProvider<BaseStateAdapterContext, BaseStateAdapterContext> | undefined;
  /** The schema of the tables. Each schema is a separate store. Default: "leasehold". */
  readonly schema?: string | undefined;
  /** The SQL type of ids. Default: "uuid". */
  readonly idType?: string | undefined;
  /** The default of the id column, for rows that are not written by Leasehold. Default: "gen_random_uuid()". */
  readonly idDefault?: string | undefined;
  /** Whether to bring the schema up to date at creation; otherwise call `migrate`. Default: true. */
  readonly migrate?: boolean | undefined;
  /** For connecting at creation. Later calls are retried according to `storeRetry` of Leasehold. */
  readonly connectionRetryConfig?: RetryConfig | undefined;
  /** Classifies errors besides the built-in rules. It cannot make a transient error permanent. */
  readonly isTransientError?: ((error: unknown) => boolean) | undefined;
}
