import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPgPoolStateProvider, createPgStateAdapter } from "@leasehold/postgres";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { type PostgresServer, startPostgres } from "@leasehold/test-servers";
import { createInProcessStateAdapter } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import pg from "pg";

/** A store to look at through the page: each call of `open` makes an empty one. */
export interface TestStore {
  readonly name: string;
  open(): Promise<{ readonly stateAdapter: AnyStateAdapter; close(): Promise<void> }>;
  /** Ends what all of them share. */
  end(): Promise<void>;
}

export const inProcess = (): TestStore => ({
  name: "in process",
  open: async () => {
    const stateAdapter = createInProcessStateAdapter();
    return { stateAdapter, close: () => stateAdapter.close() };
  },
  end: async () => undefined,
});

/** A file, as operators have it, not memory. */
export const sqlite = (): TestStore => ({
  name: "SQLite",
  open: async () => {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-dashboard-"));
    const stateAdapter = await createSqliteStateAdapter({ file: join(folder, "jobs.db") });
    return {
      stateAdapter,
      close: async () => {
        await stateAdapter.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
  end: async () => undefined,
});

/** An adapter over a schema of its own. */
export const openPostgres = async (url: string) => {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const schema = `test_${randomBytes(8).toString("hex")}`;
  const stateAdapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool }),
    schema,
  });
  return {
    stateAdapter,
    pool,
    schema,
    close: async () => {
      await stateAdapter.close();
      await pool.end();
    },
  };
};

/** One server, started with the first store that is opened on it. */
export const postgres = (): TestStore => {
  let server: Promise<PostgresServer> | undefined;
  return {
    name: "PostgreSQL",
    open: async () => {
      server ??= startPostgres();
      return openPostgres((await server).url);
    },
    end: async () => (await server)?.stop(),
  };
};
