import { startMongoTestServer, type MongoTestServer } from "@leasehold/mongodb-test-server";
import { MongoClient } from "mongodb";
import { createMongoStateProvider, type MongoTransactionContext } from "../database/provider.ts";
import { createMongoStateAdapter, type MongoStateAdapter } from "../state-adapter.ts";

let server: Promise<MongoTestServer> | undefined;
let databases = 0;

export interface TestStore {
  readonly adapter: MongoStateAdapter<MongoTransactionContext>;
  destroy(): Promise<void>;
}

/** An adapter over an empty database: on the test server, or on the replica set of `LEASEHOLD_MONGODB_URI`. */
export const createTestStore = async (
  connect = (uri: string) => new MongoClient(uri),
): Promise<TestStore> => {
  const uri = process.env["LEASEHOLD_MONGODB_URI"] ?? (await (server ??= startMongoTestServer())).uri;
  const client = connect(uri);
  const database = `leasehold_${process.pid}_${++databases}`;
  const adapter = await createMongoStateAdapter({
    stateProvider: createMongoStateProvider({ client, database }),
  });
  return {
    adapter,
    destroy: async () => {
      await adapter.close();
      await client.db(database).dropDatabase();
      await client.close();
    },
  };
};
