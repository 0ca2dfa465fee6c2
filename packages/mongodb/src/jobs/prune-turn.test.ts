import { startMongoTestServer } from "@leasehold/mongodb-test-server";
import { MongoClient } from "mongodb";
import { expect, test } from "vitest";
import { openCollections } from "../database/collections.ts";
import { takeTurn } from "./delete.ts";

test("one process prunes at a time, and a dead one holds nobody up for good", async () => {
  let time = Date.now();
  const server = await startMongoTestServer({ now: () => time });
  const client = new MongoClient(server.uri);
  try {
    const collections = openCollections(client.db("test"), "");
    const other = () => takeTurn(collections, async () => "second");
    const first = await takeTurn(collections, async () => {
      expect(await other()).toBeNull();
      return "first";
    });
    expect(first).toBe("first");
    expect(await other()).toBe("second");

    // It never comes back.
    await takeTurn(collections, async () => {
      time += 59_999;
      expect(await other()).toBeNull();
      time += 1;
      expect(await other()).toBe("second");
    });
  } finally {
    await client.close();
    await server.stop();
  }
});
