import { MongoClient } from "mongodb";
import { MongoClient as MongoClient6 } from "mongodb6";
import { expect, test } from "vitest";
import { startMongoTestServer } from "./index.ts";

const drivers = [
  { version: 7, connect: (uri: string) => new MongoClient(uri) },
  { version: 6, connect: (uri: string) => new MongoClient6(uri) as unknown as MongoClient },
];

test.each(drivers)("driver $version writes, reads and commits a transaction", async ({ connect }) => {
  const server = await startMongoTestServer();
  const client = connect(server.uri);
  try {
    const jobs = client.db("test").collection<{ _id: number; n: number; at?: Date }>("jobs");
    await jobs.insertMany([
      { _id: 1, n: 1 },
      { _id: 2, n: 2.5 },
    ]);
    await jobs.updateOne({ _id: 1 }, [{ $set: { at: "$$NOW" } }]);
    const session = client.startSession();
    await session.withTransaction(async () => {
      await jobs.insertOne({ _id: 3, n: 3 }, { session });
      await jobs.updateOne({ _id: 1 }, { $inc: { n: 10 } }, { session });
    });
    await session.endSession();

    expect(
      await jobs
        .find({}, { projection: { n: 1 } })
        .sort({ _id: 1 })
        .toArray(),
    ).toEqual([
      { _id: 1, n: 11 },
      { _id: 2, n: 2.5 },
      { _id: 3, n: 3 },
    ]);
    expect((await jobs.findOne({ _id: 1 }))?.at).toBeInstanceOf(Date);
    expect(server.openTransactions()).toBe(0);
  } finally {
    await client.close();
    await server.stop();
  }
});
