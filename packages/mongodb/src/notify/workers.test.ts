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
      // Each stream keeps a connection of the pool, and by default two are opened at a time.
      const pool = { maxPoolSize: 200, maxConnecting: 100 };
      // Without a primary, a client takes as long to close as it may look for one.
      const patience = { heartbeatFrequencyMS: 500, serverSelectionTimeoutMS: 2_000 };
      const client = new MongoClient(server.uri, { ...pool, ...patience });
      await client.connect();
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
