import type { BaseStateAdapterContext } from "leasehold/adapter";
import { type Call, createDatabase, createIsolatedProvider, type Database } from "./database.ts";
import { hasSqlState } from "./errors.ts";
import type { PgStateProvider } from "./provider.ts";
import type { Tables } from "./tables.ts";

/** How far a replica is behind the primary server. */
export interface ReadLag {
  /** Bytes of the write-ahead log that it has not replayed yet. */
  readonly bytes: number;
  /** Since when what it shows is old; 0 when it has replayed everything. Null when it has replayed nothing since it started. */
  readonly ms: number | null;
}

/** A replica that answers reads for which an answer of a few moments ago will do. */
export interface ReadReplica {
  /** Asks the replica, or the primary where the replica cannot answer. */
  read<T>(perform: (database: Database) => Promise<T>): Promise<T>;
  measureLag(): Promise<ReadLag>;
}

// A connection that cannot be made may take seconds to fail. Not every read should wait for that.
const restMs = 5_000;

/** Somebody set a limit for what a read may cost. The primary is not the place to exceed it. */
const wasTooExpensive = (error: unknown): boolean => hasSqlState(error, "57014");

export const createReadCopy = <
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
>({
  provider,
  primary,
  tables,
  isClosed,
}: {
  readonly provider: PgStateProvider<TTxContext, TContext>;
  readonly primary: Database;
  readonly tables: Tables;
  readonly isClosed: () => boolean;
}): ReadReplica => {
  const copy = createDatabase({ provider: createIsolatedProvider(provider), tables, isClosed });
  let restsUntil = 0;

  const ask = async (database: Database, sql: string, ...params: string[]) =>
    (await database.query(undefined, { sql, params }))[0];

  return {
    read: async (perform) => {
      if (performance.now() < restsUntil) return perform(primary);
      try {
        return await perform(copy);
      } catch (error) {
        if (wasTooExpensive(error)) throw error;
        // It may be away, or not have the tables yet. Where the question is at fault, the primary says so.
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
        copy,
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

/** Whether a call may be answered by a replica. What is in a transaction belongs to that transaction. */
export const mayUseReplica = ({ ctx, mayLag }: Call & { readonly mayLag?: boolean | undefined }): boolean =>
  ctx === undefined && mayLag === true;
