import { MongoClient } from "mongodb";
import type { Collection, Document, MongoClientOptions } from "mongodb";
import { afterAll, beforeAll } from "vitest";
import { startMongoTestServer } from "../index.ts";
import type { MongoTestServer, MongoTestServerOptions } from "../index.ts";

export interface ClientSetup {
  readonly client: MongoClient;
  /** A new, empty collection. */
  collection<TSchema extends Document = Document>(): Collection<TSchema>;
  connect(options?: MongoClientOptions): MongoClient;
}

export interface ServerSetup extends ClientSetup {
  readonly server: MongoTestServer;
}

const createSetup = (uri: string): ClientSetup & { close(): Promise<void> } => {
  const clients: MongoClient[] = [];
  const connect = (options: MongoClientOptions = {}) => {
    const client = new MongoClient(uri, options);
    clients.push(client);
    return client;
  };
  const client = connect();
  const database = client.db(`test_${process.pid}_${Date.now()}`);
  let collections = 0;
  return {
    client,
    connect,
    collection: <TSchema extends Document>() => database.collection<TSchema>(`c${++collections}`),
    close: async () => {
      await database.dropDatabase();
      await Promise.all(clients.map((open) => open.close()));
    },
  };
};

const needed = <TSetup>(setup: TSetup | undefined): TSetup => {
  if (setup === undefined) throw new Error("the server has not been started yet");
  return setup;
};

/** One server and one client for a test file. */
export const useServer = (options: MongoTestServerOptions = {}): (() => ServerSetup) => {
  let setup: (ServerSetup & { close(): Promise<void> }) | undefined;
  beforeAll(async () => {
    const server = await startMongoTestServer(options);
    setup = { server, ...createSetup(server.uri) };
  });
  afterAll(async () => {
    await setup?.close();
    await setup?.server.stop();
  });
  return () => needed(setup);
};

/**
 * A client for tests of behaviour that the real server has as well. With `LEASEHOLD_MONGODB_URI` they run on that
 * replica set: this is how the answers expected here are checked.
 */
export const useClient = (): (() => ClientSetup) => {
  let setup: ReturnType<typeof createSetup> | undefined;
  let server: MongoTestServer | undefined;
  beforeAll(async () => {
    const uri = process.env["LEASEHOLD_MONGODB_URI"];
    server = uri === undefined ? await startMongoTestServer() : undefined;
    setup = createSetup(uri ?? server?.uri ?? "");
  });
  afterAll(async () => {
    await setup?.close();
    await server?.stop();
  });
  return () => needed(setup);
};
