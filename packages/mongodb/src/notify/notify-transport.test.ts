import { type MongoTestServer, startMongoTestServer } from "@leasehold/mongodb-test-server";
import { notifyTransportConformance } from "leasehold/testing";
import { MongoClient } from "mongodb";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openHints } from "./hints.ts";
import { createMongoTransport } from "./notify-transport.ts";

let server: MongoTestServer | undefined;
let clients: readonly [MongoClient, MongoClient];
let databases = 0;

beforeAll(async () => {
  const given = process.env["LEASEHOLD_MONGODB_URI"];
  if (given === undefined) server = await startMongoTestServer();
  const uri = given ?? server!.uri;
  clients = [new MongoClient(uri), new MongoClient(uri)];
});

afterAll(async () => {
  for (const client of clients) await client.close();
  await server?.stop();
});

notifyTransportConformance(
  { describe, it, afterAll },
  {
    countsHints: true,
    create: async () => {
      const database = `leasehold_notify_${process.pid}_${++databases}`;
      const [transport, peer] = clients.map((client) =>
        createMongoTransport({
          hints: openHints(client.db(database), "leasehold_"),
          heartbeatMs: 10_000,
          onError: () => {},
        }),
      );
      return {
        transport: transport!,
        peer: peer!,
        destroy: async () => {
          await clients[0].db(database).dropDatabase();
        },
      };
    },
  },
);
