import { expect, test } from "vitest";
import { useClient } from "../testing/use-server.ts";

const setup = useClient();

test("unique indexes: compound, sparse, partial, over arrays", async () => {
  const jobs = setup().collection<{ _id: number; [field: string]: unknown }>();
  await jobs.createIndexes([
    { key: { a: 1, b: 1 }, unique: true },
    { key: { s: 1 }, unique: true, sparse: true },
    { key: { k: 1 }, unique: true, partialFilterExpression: { open: true } },
    { key: { tags: 1 }, unique: true, sparse: true },
  ]);
  await jobs.insertOne({ _id: 1, a: 1, b: 1, k: "x", open: true, tags: ["t", "t", "u"] });
  await jobs.insertOne({ _id: 2, a: 1, b: 2, k: "x" });
  const duplicate = (index: string) =>
    expect.objectContaining({ code: 11_000, message: expect.stringContaining(index) });
  await expect(jobs.insertOne({ _id: 3, a: 1, b: 1 })).rejects.toEqual(duplicate("a_1_b_1"));
  await expect(jobs.insertOne({ _id: 2, a: 9 })).rejects.toEqual(duplicate("_id_"));
  await expect(jobs.updateOne({ _id: 2 }, { $set: { open: true } })).rejects.toEqual(duplicate("k_1"));
  await expect(jobs.insertOne({ _id: 3, a: 3, tags: ["v", "u"] })).rejects.toEqual(duplicate("tags_1"));
  await jobs.deleteOne({ _id: 1 });
  await jobs.updateOne({ _id: 2 }, { $set: { open: true, tags: ["u"] } });
  // Without the fields a document counts as null in an index that is not sparse.
  await jobs.insertOne({ _id: 4 });
  await expect(jobs.insertOne({ _id: 5 })).rejects.toEqual(duplicate("a_1_b_1"));
});

test("createIndexes is idempotent and refuses what contradicts", async () => {
  const jobs = setup().collection();
  await jobs.createIndex({ a: 1 });
  await jobs.createIndex({ a: 1 });
  expect((await jobs.listIndexes().toArray()).map(({ name }) => String(name))).toEqual(["_id_", "a_1"]);
  await expect(jobs.createIndex({ a: 1 }, { name: "other" })).rejects.toMatchObject({ code: 85 });
  await expect(jobs.createIndex({ b: 1 }, { name: "a_1" })).rejects.toMatchObject({ code: 86 });
  await expect(jobs.createIndex({ a: 1 }, { unique: true })).rejects.toMatchObject({ code: 86 });
  await jobs.insertMany([{ u: 1 }, { u: 1 }]);
  await expect(jobs.createIndex({ u: 1 }, { unique: true })).rejects.toMatchObject({ code: 11_000 });
  await jobs.dropIndex("a_1");
  await expect(jobs.dropIndex("a_1")).rejects.toMatchObject({ code: 27 });
});

test("documents are checked: size, validator, parallel arrays", async () => {
  const jobs = setup().collection<{ _id: number; [field: string]: unknown }>();
  await setup()
    .client.db(jobs.dbName)
    .createCollection(jobs.collectionName, { validator: { n: { $gte: 0 } } });
  await jobs.insertOne({ _id: 1, n: 1 });
  await expect(jobs.insertOne({ _id: 2, n: -1 })).rejects.toMatchObject({ code: 121 });
  await expect(jobs.updateOne({ _id: 1 }, { $set: { n: "x" } })).rejects.toMatchObject({ code: 121 });
  await jobs.createIndex({ a: 1, b: 1 });
  await expect(jobs.insertOne({ _id: 3, n: 1, a: [1], b: [2] })).rejects.toMatchObject({ code: 171 });
  const half = "x".repeat(9 * 1024 * 1024);
  await jobs.updateOne({ _id: 1 }, { $set: { first: half } });
  await expect(jobs.updateOne({ _id: 1 }, { $set: { second: half } })).rejects.toMatchObject({
    code: 17_419,
  });
});

test("cursors hand out a large result in batches and can be closed early", async () => {
  const jobs = setup().collection<{ _id: number }>();
  await jobs.insertMany(Array.from({ length: 1000 }, (_, _id) => ({ _id })));
  expect(await jobs.find({}, { batchSize: 7 }).toArray()).toHaveLength(1000);
  const cursor = jobs.find({}, { batchSize: 2 });
  await cursor.next();
  await cursor.close();
  expect(await jobs.aggregate([{ $sort: { _id: -1 } }], { batchSize: 300 }).toArray()).toHaveLength(1000);
  expect(await jobs.distinct("_id", { _id: { $lt: 3 } })).toEqual([0, 1, 2]);
});
