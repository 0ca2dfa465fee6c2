import { randomBytes } from "node:crypto";
import { createMongoStateProvider, createMongoStateAdapter } from "@leasehold/mongodb";
import { startMongoTestServer } from "@leasehold/mongodb-test-server";
import { createPgPoolStateProvider, createPgStateAdapter } from "@leasehold/postgres";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { startPostgres } from "@leasehold/test-servers";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import { MongoClient } from "mongodb";
import pg from "pg";
import type { AnyDefinitions, AnyLeasehold } from "../store/store.ts";
import { createFolder, type Folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

export interface TestStore {
  /** What `--store` takes, in its folder. */
  readonly address: string;
  /** With the address of the store in its environment. Its `run` runs the command in this process. */
  readonly folder: Folder;
  readonly leasehold: AnyLeasehold;
  readonly stateAdapter: AnyStateAdapter;
  /** Runs the command and reads what it printed as JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests say what they expect of it
  json(...args: string[]): Promise<{ code: number | null; value: any }>;
  /** As if somebody had thought it superfluous. */
  dropIndex(): Promise<void>;
  close(): Promise<void>;
}

export type StoreKind = "sqlite" | "postgres" | "mongodb";

let server: ReturnType<typeof startPostgres> | undefined;

export const postgresUrl = async (): Promise<string> => {
  server ??= startPostgres();
  return (await server).url;
};

export const stopPostgres = async (): Promise<void> => {
  await (await server)?.stop();
  server = undefined;
};

let mongoServer: ReturnType<typeof startMongoTestServer> | undefined;

/** The address of a database on the replica set of `LEASEHOLD_MONGODB_URI`, or on the test server. */
export const mongodbUrl = async (database: string): Promise<string> => {
  const given = process.env["LEASEHOLD_MONGODB_URI"];
  const uri = given ?? (await (mongoServer ??= startMongoTestServer())).uri;
  // It may name several hosts, so it is no URL.
  return uri.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*/, `$1/${database}`);
};

export const stopMongodb = async (): Promise<void> => {
  await (await mongoServer)?.stop();
  mongoServer = undefined;
};

interface OpenedAdapter {
  readonly stateAdapter: AnyStateAdapter;
  readonly dropIndex: TestStore["dropIndex"];
  end(): Promise<void>;
}

const openSqlite = async (folder: Folder): Promise<OpenedAdapter> => {
  const stateAdapter = await createSqliteStateAdapter({ file: `${folder.path}/jobs.db` });
  return {
    stateAdapter,
    dropIndex: () =>
      stateAdapter.provideContext(async ({ client }) => {
        const [row] = client
          .prepare("SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE '%failed%'")
          .all();
        client.exec(`DROP INDEX ${(row as { name: string }).name}`);
      }),
    end: () => stateAdapter.close(),
  };
};

const openPostgres = async (schema: string): Promise<OpenedAdapter> => {
  const pool = new pg.Pool({ connectionString: await postgresUrl(), options: `-c search_path=${schema}` });
  const stateAdapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool }),
    schema,
  });
  return {
    stateAdapter,
    dropIndex: async () => {
      await pool.query("DROP INDEX job_failed");
    },
    end: () => pool.end(),
  };
};

const openMongodb = async (url: string): Promise<OpenedAdapter> => {
  const client = new MongoClient(url);
  const stateAdapter = await createMongoStateAdapter({ stateProvider: createMongoStateProvider({ client }) });
  return {
    stateAdapter,
    dropIndex: async () => {
      await client.db().collection("leasehold_jobs").dropIndex("status");
    },
    end: async () => {
      await client.db().dropDatabase();
      await client.close();
    },
  };
};

/** A migrated store of this kind that nobody else uses, seen from the command and from the test itself. */
export const openTestStore = async (kind: StoreKind): Promise<TestStore> => {
  const schema = `test_${randomBytes(6).toString("hex")}`;
  const addresses = {
    sqlite: async () => "sqlite:./jobs.db",
    postgres: postgresUrl,
    mongodb: () => mongodbUrl(schema),
  };
  const address = await addresses[kind]();
  const env = { LEASEHOLD_STORE: address };
  const ownFolder = createFolder(env);
  const folder: Folder = { ...ownFolder, run: (...args) => runMain(args, env, ownFolder.path) };
  if (kind === "postgres") {
    folder.write("leasehold.config.mjs", `export default { schema: ${JSON.stringify(schema)} };`);
  }
  const open = {
    sqlite: () => openSqlite(folder),
    postgres: () => openPostgres(schema),
    mongodb: () => openMongodb(address),
  };
  const { stateAdapter, dropIndex, end } = await open[kind]();
  const jobTypes = defineUnionJobTypes<AnyDefinitions>();
  return {
    address,
    folder,
    stateAdapter,
    dropIndex,
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
