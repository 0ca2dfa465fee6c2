import type { Document } from "mongodb";
import { expect, test } from "vitest";
import { useClient } from "../testing/use-server.ts";

const setup = useClient();

const jobs = [
  { _id: 1, queue: "a", status: "done", n: 1, tags: ["x", "y"] },
  { _id: 2, queue: "a", status: "open", n: 2, tags: [] },
  { _id: 3, queue: "b", status: "done", n: 3, tags: ["x"] },
  { _id: 4, queue: "b", status: "done", n: 4 },
];

const answers: readonly (readonly [pipeline: Document[], answer: unknown])[] = [
  [[{ $match: { status: "done" } }, { $count: "n" }], [{ n: 3 }]],
  [[{ $match: { status: "none" } }, { $count: "n" }], []],
  [
    [{ $group: { _id: { q: "$queue", s: "$status" }, n: { $sum: 1 } } }, { $sort: { _id: 1 } }],
    [
      { _id: { q: "a", s: "done" }, n: 1 },
      { _id: { q: "a", s: "open" }, n: 1 },
      { _id: { q: "b", s: "done" }, n: 2 },
    ],
  ],
  [
    [
      {
        $group: {
          _id: null,
          sum: { $sum: "$n" },
          avg: { $avg: "$n" },
          min: { $min: "$n" },
          max: { $max: "$n" },
          queues: { $addToSet: "$queue" },
          first: { $first: "$_id" },
        },
      },
    ],
    [{ _id: null, sum: 10, avg: 2.5, min: 1, max: 4, queues: ["a", "b"], first: 1 }],
  ],
  [
    [{ $unwind: "$tags" }, { $project: { tags: 1 } }],
    [
      { _id: 1, tags: "x" },
      { _id: 1, tags: "y" },
      { _id: 3, tags: "x" },
    ],
  ],
  [[{ $unwind: { path: "$tags", preserveNullAndEmptyArrays: true } }, { $count: "n" }], [{ n: 5 }]],
  [
    [
      { $sort: { n: -1 } },
      { $skip: 1 },
      { $limit: 2 },
      { $project: { _id: 0, double: { $multiply: ["$n", 2] } } },
    ],
    [{ double: 6 }, { double: 4 }],
  ],
  [
    [{ $match: { _id: { $lte: 2 } } }, { $set: { x: 1 } }, { $unset: ["tags", "n", "queue", "status"] }],
    [
      { _id: 1, x: 1 },
      { _id: 2, x: 1 },
    ],
  ],
  [[{ $sortByCount: "$queue" }, { $limit: 1 }, { $project: { count: 1, _id: 0 } }], [{ count: 2 }]],
  [
    [{ $facet: { all: [{ $count: "n" }], done: [{ $match: { status: "done" } }, { $count: "n" }] } }],
    [{ all: [{ n: 4 }], done: [{ n: 3 }] }],
  ],
];

test.each(answers)("%j gives %j", async (pipeline, answer) => {
  const collection = setup().collection<{ _id: number }>();
  await collection.insertMany(jobs);
  expect(await collection.aggregate(pipeline).toArray()).toEqual(answer);
});

test("joins another collection by fields and by a pipeline", async () => {
  const collection = setup().collection<{ _id: number }>();
  const queues = setup().collection<{ _id: string; limit: number }>();
  await collection.insertMany(jobs);
  await queues.insertMany([
    { _id: "a", limit: 1 },
    { _id: "b", limit: 5 },
  ]);
  const joined = await collection
    .aggregate([
      { $lookup: { from: queues.collectionName, localField: "queue", foreignField: "_id", as: "found" } },
      {
        $lookup: {
          from: queues.collectionName,
          let: { n: "$n" },
          pipeline: [{ $match: { $expr: { $lt: ["$$n", "$limit"] } } }, { $project: { limit: 0 } }],
          as: "larger",
        },
      },
      { $match: { _id: 3 } },
      { $project: { found: 1, larger: 1 } },
    ])
    .toArray();
  expect(joined).toEqual([{ _id: 3, found: [{ _id: "b", limit: 5 }], larger: [{ _id: "b" }] }]);
  const union = await collection
    .aggregate([{ $unionWith: queues.collectionName }, { $count: "n" }])
    .toArray();
  expect(union).toEqual([{ n: 6 }]);
});

test.each(["$graphLookup", "$madeUp"])("refuses the stage %s by name", async (stage) => {
  const collection = setup().collection();
  await expect(collection.aggregate([{ [stage]: {} }]).toArray()).rejects.toThrow(stage);
});
