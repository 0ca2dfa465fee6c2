import type { BaseStateAdapterContext } from "leasehold/adapter";
import {
  type Call,
  createDatabase,
  createIsolatedProvider,
  type Database,
  type DatabaseOptions,
} from "./database.ts";
import { hasSqlState } from "./errors.ts";
import type { PgStateProvider } from "./provider.ts";

/** How far a replica is behind the primary server. */
export interface ReadLag {
  /** Bytes of the write-ahead log that it has not replayed yet. */
  readonly bytes: number;
  /** The age of its last replayed transaction; 0 if it has replayed everything, null if nothing since it started. */
  readonly ms: number | null;
}

/** A replica for reads that may be a few seconds old. */
export interface ReadReplica {
  /** Reads from the replica, or from the primary while the replica fails. */
  read<T>(perform: (database: Database) => Promise<T>): Promise<T>;
  measureLag(): Promise<ReadLag>;
}

// A failed connection may take seconds to be reported. After a failure, reads skip the replica for this long.
const restMs = 5_000;

/** A statement timeout that the operator has set. The read is not repeated on the primary, where it would cost as much. */
const wasTooExpensive = (error: unknown): boolean => hasSqlState(error, "57014");

export const createReadReplica = <
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
>({
  provider,
  primary,
  ...shared
}: {
  readonly provider: PgStateProvider<TTxContext, TContext>;
  readonly primary: Database;
} & Omit<DatabaseOptions, "provider">): ReadReplica => {
  const replica = createDatabase({ provider: createIsolatedProvider(provider), ...shared });
  let restsUntil = 0;

  const ask = async (database: Database, sql: string, ...params: string[]) =>
    (await database.query(undefined, { sql, params }))[0];

  return {
    read: async (perform) => {
      if (performance.now() < restsUntil) return perform(primary);
      try {
        return await perform(replica);
      } catch (error) {
        if (wasTooExpensive(error)) throw error;
        // The replica may be down, or without the tables so far. If the statement is wrong, the primary fails as well.
        restsUntil = performance.now() + restMs;
        return perform(primary);
      }
    },
    measureLag: async () => {
      const written = await ask(
        primary,
        "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END)::text AS position",
      );
      const replayed = await ask(
        replica,
        `SELECT pg_wal_lsn_diff($1::pg_lsn, replayed)::text AS bytes,
           extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000 AS ms
         FROM (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END) AS at (replayed)`,
        String(written?.["position"]),
      );
      const bytes = Math.max(0, Number(replayed?.["bytes"]));
      const ms = replayed?.["ms"] ?? null;
      if (bytes === 0) return { bytes, ms: 0 };
      return { bytes, ms: ms === null ? null : Math.max(0, Math.round(Number(ms))) };
    },
  };
};

/** Whether a call may read from the replica. A call in a transaction reads in that transaction. */
export const mayUseReplica = ({ ctx, mayLag }: Call & { readonly mayLag?: boolean | undefined }): boolean =>
  ctx === undefined && mayLag === true;
