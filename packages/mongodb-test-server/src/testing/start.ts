import { MongoClient } from "mongodb";
import type { Collection, Document, MongoClientOptions } from "mongodb";
import { afterAll, beforeAll } from "vitest";
import { startMongoTestServer } from "../index.ts";
import type { MongoTestServer, MongoTestServerOptions } from "../index.ts";

export interface TestSetup {
  readonly server: MongoTestServer;
  readonly client: MongoClient;
  /** A new, empty collection. */
  collection<TSchema extends Document = Document>(): Collection<TSchema>;
  connect(options?: MongoClientOptions): MongoClient;
}

/** One server and one client for a test file. */
export const useServer = (options: MongoTestServerOptions = {}): (() => TestSetup) => {
  let setup: TestSetup | undefined;
  const clients: MongoClient[] = [];
  let collections = 0;

  beforeAll(async () => {
    const server = await startMongoTestServer(options);
    const connect = (clientOptions: MongoClientOptions = {}) => {
      const client = new MongoClient(server.uri, clientOptions);
      clients.push(client);
      return client;
    };
    const client = connect();
    setup = {
      server,
      client,
      connect,
      collection: <TSchema extends Document>() => client.db("test").collection<TSchema>(`c${++collections}`),
    };
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await setup?.server.stop();
  });
  return () => {
    if (setup === undefined) throw new Error("the server has not been started yet");
    return setup;
  };
};
