import type { Document } from "mongodb";
import { expect, test } from "vitest";
import { useServer } from "../testing/use-server.ts";

const setup = useServer();

interface Job {
  _id: number;
  queue: string;
  type: string;
  priority: number;
  dueAt: number;
  live?: boolean;
}

const createJobs = async (count: number, dueAt: (i: number) => number) => {
  const jobs = setup().collection<Job>();
  await jobs.createIndex(
    { queue: 1, type: 1, priority: -1, dueAt: 1, _id: 1 },
    { name: "claim", partialFilterExpression: { live: true } },
  );
  await jobs.insertMany(
    Array.from({ length: count }, (_, i) => ({
      _id: i,
      queue: "q",
      type: i % 2 === 0 ? "even" : "odd",
      priority: i % 3,
      dueAt: dueAt(i),
      ...(i % 10 === 9 ? {} : { live: true }),
    })),
  );
  return jobs;
};

const stats = (explained: Document) => explained["executionStats"] as Document;

test("a bound behind an open field costs a key per value of that field", async () => {
  // 2000 jobs for later, 20 that are due.
  const jobs = await createJobs(2020, (i) => (i < 20 ? i : 1_000_000 + i));
  const query = jobs
    .find({ queue: "q", type: { $in: ["even", "odd"] }, live: true, dueAt: { $lte: 1000 } })
    .sort({ priority: -1, dueAt: 1, _id: 1 })
    .limit(100);
  const explained = await query.explain("executionStats");
  expect(JSON.stringify(explained)).toContain('"indexName":"claim"');
  expect(JSON.stringify(explained)).not.toContain('"stage":"SORT"');
  expect(stats(explained)).toMatchObject({ nReturned: 18, totalDocsExamined: 18 });
  expect(stats(explained)["totalKeysExamined"]).toBeLessThan(18 + 2 * 4 * 2);
  const found = await query.toArray();
  expect(found.map(({ priority }) => priority)).toEqual(
    found.map(({ priority }) => priority).toSorted((a, b) => b - a),
  );
});

test("a limit stops the scan", async () => {
  const jobs = await createJobs(500, (i) => i);
  const explained = await jobs
    .find({ queue: "q", type: "odd", live: true, dueAt: { $lte: 1000 } })
    .sort({ priority: -1, dueAt: 1, _id: 1 })
    .limit(5)
    .explain("executionStats");
  expect(stats(explained)).toMatchObject({ nReturned: 5, totalKeysExamined: 5, totalDocsExamined: 5 });
});

test("a partial index serves only queries that ask for what it holds", async () => {
  const jobs = await createJobs(10, (i) => i);
  const planOf = async (filter: Document) =>
    JSON.stringify((await jobs.find(filter).explain())["queryPlanner"]);
  expect(await planOf({ queue: "q", live: true })).toContain("IXSCAN");
  expect(await planOf({ queue: "q" })).toContain("COLLSCAN");
  expect(await planOf({ queue: "q", live: { $in: [true] } })).toContain("IXSCAN");
  expect(await planOf({ queue: "q", live: { $ne: false } })).toContain("COLLSCAN");
  expect(await planOf({ _id: 3 })).toContain("IXSCAN");
  expect(await planOf({ $or: [{ _id: 3 }, { queue: "q", live: true }] })).toContain('"stage":"OR"');
});

test("a listener sees the plan of every command", async () => {
  const jobs = await createJobs(10, (i) => i);
  const seen: string[] = [];
  const stop = setup().server.onPlan(({ command, indexes, isCollectionScan }) => {
    seen.push(`${command} ${isCollectionScan ? "scan" : indexes.join()}`);
  });
  await jobs.findOne({ _id: 1 });
  await jobs.updateMany({ queue: "q" }, { $set: { queue: "r" } });
  await jobs.deleteOne({ _id: 1 });
  await jobs.findOneAndUpdate({ queue: "r", live: true }, { $inc: { priority: 1 } });
  await jobs.aggregate([{ $match: { _id: { $gt: 3 } } }, { $count: "n" }]).toArray();
  stop();
  await jobs.findOne({ _id: 1 });
  expect(seen).toEqual(["find _id_", "update scan", "delete _id_", "findAndModify claim", "aggregate _id_"]);
});

test("counts and orders through arrays by the same documents as without an index", async () => {
  const lists = setup().collection<{ _id: number; tags: number[] }>();
  await lists.insertMany([
    { _id: 1, tags: [1, 2, 3] },
    { _id: 2, tags: [3] },
    { _id: 3, tags: [] },
  ]);
  await lists.createIndex({ tags: 1 });
  expect(await lists.find({ tags: { $gte: 1 } }, { hint: "tags_1" }).toArray()).toHaveLength(2);
  expect(await lists.countDocuments({ tags: { $gt: 2, $lt: 2 } }, { hint: "tags_1" })).toBe(1);
});
