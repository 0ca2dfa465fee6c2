import { randomBytes } from "node:crypto";
import { createPgPoolProvider, createPgStateAdapter } from "@leasehold/postgres";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { startPostgres } from "@leasehold/test-servers";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import pg from "pg";
import type { AnyDefinitions, AnyLeasehold } from "../store/store.ts";
import { createFolder, type Folder } from "./run-cli.ts";

export interface TestStore {
  /** With the address of the store in its environment. */
  readonly folder: Folder;
  readonly leasehold: AnyLeasehold;
  readonly stateAdapter: AnyStateAdapter;
  /** Runs the command and reads what it printed as JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests say what they expect of it
  json(...args: string[]): Promise<{ code: number | null; value: any }>;
  /** Asks the database itself: in PostgreSQL's words, or else in SQLite's. */
  sql(postgres: string, sqlite?: string): Promise<readonly Record<string, unknown>[]>;
  close(): Promise<void>;
}

export type StoreKind = "sqlite" | "postgres";

let server: ReturnType<typeof startPostgres> | undefined;

export const postgresUrl = async (): Promise<string> => {
  server ??= startPostgres();
  return (await server).url;
};

export const stopPostgres = async (): Promise<void> => {
  await (await server)?.stop();
  server = undefined;
};

interface OpenedAdapter {
  readonly stateAdapter: AnyStateAdapter;
  readonly sql: TestStore["sql"];
  end(): Promise<void>;
}

const openSqlite = async (folder: Folder): Promise<OpenedAdapter> => {
  const stateAdapter = await createSqliteStateAdapter({ file: `${folder.path}/jobs.db` });
  return {
    stateAdapter,
    sql: (postgres, sqlite = postgres) =>
      stateAdapter.provideContext(async ({ client }) => {
        if (!sqlite.startsWith("SELECT")) {
          client.exec(sqlite);
          return [];
        }
        return client.prepare(sqlite).all() as Record<string, unknown>[];
      }),
    end: () => stateAdapter.close(),
  };
};

const openPostgres = async (schema: string): Promise<OpenedAdapter> => {
  const pool = new pg.Pool({ connectionString: await postgresUrl(), options: `-c search_path=${schema}` });
  const stateAdapter = await createPgStateAdapter({ stateProvider: createPgPoolProvider({ pool }), schema });
  return {
    stateAdapter,
    sql: async (text) => (await pool.query(text)).rows as Record<string, unknown>[],
    end: () => pool.end(),
  };
};

/** A migrated store of this kind that nobody else uses, seen from the command and from the test itself. */
export const openTestStore = async (kind: StoreKind): Promise<TestStore> => {
  const schema = `test_${randomBytes(6).toString("hex")}`;
  const address = kind === "sqlite" ? "sqlite:./jobs.db" : await postgresUrl();
  const folder = createFolder({ LEASEHOLD_STORE: address });
  if (kind === "postgres") {
    folder.write("leasehold.config.mjs", `export default { schema: ${JSON.stringify(schema)} };`);
  }
  const { stateAdapter, sql, end } = await (kind === "sqlite" ? openSqlite(folder) : openPostgres(schema));
  const jobTypes = defineUnionJobTypes<AnyDefinitions>();
  return {
    folder,
    stateAdapter,
    sql,
    leasehold: (await createLeasehold({ stateAdapter, jobTypes })) as AnyLeasehold,
    json: async (...args) => {
      const { code, stdout, stderr } = await folder.run(...args, "--json");
      if (stdout === "") throw new Error(`Nothing on stdout:\n${stderr}`);
      return { code, value: JSON.parse(stdout) };
    },
    close: async () => {
      await end();
      folder.remove();
    },
  };
};
