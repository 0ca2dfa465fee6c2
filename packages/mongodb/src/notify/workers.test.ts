import { type MongoTestServer, startMongoTestServer } from "@leasehold/mongodb-test-server";
import { brokerConformance } from "leasehold/testing";
import { MongoClient } from "mongodb";
import { afterAll, beforeAll, describe, it } from "vitest";
import { createMongoNotifyAdapter } from "./notify-adapter.ts";

let server: MongoTestServer;

let databases = 0;

beforeAll(async () => {
  server = await startMongoTestServer();
});

afterAll(() => server.stop());

/** Each stream keeps a connection, and by default a pool opens two at a time. */
const poolOf = (streams: number) => ({ minPoolSize: streams, maxPoolSize: 200, maxConnecting: 100 });

/** So that no stream is opened late, on a busy machine, because so many connections had to be opened first. */
const connectAll = async (client: MongoClient, count: number): Promise<void> => {
  let ready = 0;
  const all = new Promise<void>((resolve) => {
    client.on("connectionReady", () => {
      ready += 1;
      if (ready === count) resolve();
    });
  });
  await client.connect();
  await all;
};

brokerConformance(
  { describe, it, afterAll },
  {
    // No primary, and nobody was told: what has been published stays, as in a replica set that holds an election.
    kill: async () => {
      server.stepDown();
      server.cutConnections();
    },
    startAgain: async () => server.stepUp(),
    connect: async (count) => {
      const database = `fleet_${++databases}`;
      // Without a primary, a client takes as long to close as it may look for one.
      const patience = { heartbeatFrequencyMS: 500, serverSelectionTimeoutMS: 2_000 };
      const client = new MongoClient(server.uri, { ...poolOf(count), ...patience });
      await connectAll(client, count);
      const createAdapter = () => createMongoNotifyAdapter({ client, database });
      return {
        createAdapters: () => Promise.all(Array.from({ length: count }, createAdapter)),
        publish: ({ short }, message) =>
          client
            .db(database)
            .collection("leasehold_hints")
            .insertOne({ channel: short, message, at: new Date() }),
        lost: () =>
          new Promise<void>((resolve) => {
            client.on("topologyDescriptionChanged", ({ newDescription: { type } }) => {
              if (type === "ReplicaSetNoPrimary") resolve();
            });
          }),
        close: () => client.close(),
      };
    },
  },
);
