import { InvalidOptionError } from "leasehold/adapter";
import { createTestKit, type TestKit, type TestKitOptions } from "leasehold/testing";
import type { MongoClient } from "mongodb";
import { createMongoStateProvider, type MongoTransactionContext } from "./database/provider.ts";
import { createMongoStateAdapter, type MongoStateAdapter } from "./state-adapter.ts";

type TestedAdapter = MongoStateAdapter<MongoTransactionContext>;

/** Options of `createMongoTestKit`. */
export type MongoTestKitOptions<TDefs> = TestKitOptions<TDefs, TestedAdapter> & {
  /** A client of a replica set for tests; one member is enough. It is yours to close. */
  readonly client: MongoClient;
  /** Must be empty: `close` drops it. Default: a new name. */
  readonly database?: string | undefined;
  /** As for `createTestKit`. Default: 5. */
  readonly quietMs?: number;
};

export interface MongoTestKit<TDefs> extends TestKit<TDefs, TestedAdapter> {
  /** The name of the database, for collections of your own. */
  readonly database: string;
  /** Closes the adapter and drops the database. The client is yours. */
  close(): Promise<void>;
}

const newDatabaseName = (): string =>
  `leasehold_test_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`;

/** What is in the database would be gone after the test. */
const checkEmpty = async (client: MongoClient, database: string): Promise<void> => {
  const [found] = await client.db(database).listCollections({}, { nameOnly: true }).toArray();
  if (found === undefined) return;
  throw new InvalidOptionError(
    "database",
    `must be empty, because \`close\` drops it; this one has a collection ${JSON.stringify(found.name)}`,
    database,
  );
};

/** A test kit over MongoDB: handlers read and write real collections, in the kit's time. */
export const createMongoTestKit = async <TDefs>({
  client,
  database = newDatabaseName(),
  quietMs = 5,
  ...options
}: MongoTestKitOptions<TDefs>): Promise<MongoTestKit<TDefs>> => {
  const stateProvider = createMongoStateProvider({ client, database });
  await checkEmpty(client, database);
  const stateAdapter = await createMongoStateAdapter({ stateProvider });
  const kit = await createTestKit<TDefs, TestedAdapter>({
    ...(options as TestKitOptions<TDefs, TestedAdapter>),
    stateAdapter,
    quietMs,
  });
  return {
    ...kit,
    database,
    close: async () => {
      await stateAdapter.close();
      await client.db(database).dropDatabase();
    },
  };
};
