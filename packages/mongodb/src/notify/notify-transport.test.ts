import { notifyTransportConformance } from "leasehold/testing";
import { MongoClient } from "mongodb";
import { afterAll, beforeAll, describe, it } from "vitest";
import { useServerUri } from "../testing/use-server-uri.ts";
import { openHints } from "./hints.ts";
import { createMongoTransport } from "./notify-adapter.ts";

const serverUri = useServerUri();

let clients: readonly [MongoClient, MongoClient];

let databases = 0;

beforeAll(() => {
  clients = [new MongoClient(serverUri()), new MongoClient(serverUri())];
});

afterAll(async () => {
  for (const client of clients) await client.close();
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
