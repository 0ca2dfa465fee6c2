import { Long } from "mongodb";
import type { Document, UpdateFilter } from "mongodb";
import { expect, test } from "vitest";
import { useClient } from "../testing/use-server.ts";

const setup = useClient();

type Update = Document | Document[];

/** A document, an update, and the document after it. */
const answers: readonly (readonly [before: Document, update: Update, after: Document])[] = [
  [{ a: 1 }, { $set: { b: 2 } }, { a: 1, b: 2 }],
  [{}, { $set: { "a.b.c": 1 } }, { a: { b: { c: 1 } } }],
  [{ a: [1, 2] }, { $set: { "a.1": 5 } }, { a: [1, 5] }],
  [{ a: [1] }, { $set: { "a.3": 5 } }, { a: [1, null, null, 5] }],
  [{ a: 1, b: 2 }, { $unset: { b: "", c: "" } }, { a: 1 }],
  [{ a: [1, 2, 3] }, { $unset: { "a.1": "" } }, { a: [1, null, 3] }],
  [{ a: 1 }, { $inc: { a: 2, b: 3 } }, { a: 3, b: 3 }],
  [{ a: 3 }, { $mul: { a: 2, b: 5 } }, { a: 6, b: 0 }],
  [{ a: 3 }, { $min: { a: 2, b: 1 } }, { a: 2, b: 1 }],
  [{ a: 3 }, { $max: { a: 2 } }, { a: 3 }],
  [{ a: 3 }, { $max: { a: "x" } }, { a: "x" }],
  [{ a: 1 }, { $rename: { a: "b" } }, { b: 1 }],
  [{ a: 1 }, { $setOnInsert: { b: 1 } }, { a: 1 }],
  [{}, { $push: { a: 1 } }, { a: [1] }],
  [{ a: [3] }, { $push: { a: { $each: [1, 2], $sort: 1, $slice: -2 } } }, { a: [2, 3] }],
  [{ a: [1] }, { $push: { a: { $each: [0], $position: 0 } } }, { a: [0, 1] }],
  [{ a: [1] }, { $addToSet: { a: { $each: [1, 2] } } }, { a: [1, 2] }],
  [{ a: [1, 2, 1] }, { $pull: { a: 1 } }, { a: [2] }],
  [{ a: [1, 5, 9] }, { $pull: { a: { $gte: 5 } } }, { a: [1] }],
  [{ a: [{ b: 1 }, { b: 2, c: 1 }] }, { $pull: { a: { b: 2 } } }, { a: [{ b: 1 }] }],
  [{ a: [1, 2, 1] }, { $pullAll: { a: [1] } }, { a: [2] }],
  [{ a: [1, 2] }, { $pop: { a: 1 } }, { a: [1] }],
  [{ a: [1, 2] }, { $set: { "a.$[]": 0 } }, { a: [0, 0] }],
  [{ a: 1 }, { b: 2 }, { b: 2 }],
  [{ a: 1 }, [{ $set: { b: { $add: ["$a", 1] } } }], { a: 1, b: 2 }],
  [{ a: 1 }, [{ $set: { b: 1 } }, { $set: { c: "$b" } }], { a: 1, b: 1, c: 1 }],
  [{ a: 1 }, [{ $set: { b: 1, c: "$b" } }], { a: 1, b: 1 }],
  [{ a: { b: 1 } }, [{ $set: { a: { c: 2 } } }], { a: { b: 1, c: 2 } }],
  [{ a: { b: 1 } }, [{ $set: { a: { $literal: { c: 2 } } } }], { a: { c: 2 } }],
  [
    { a: [{ b: 1 }, { b: 2 }] },
    [{ $set: { "a.c": 0 } }],
    {
      a: [
        { b: 1, c: 0 },
        { b: 2, c: 0 },
      ],
    },
  ],
  [{ a: 1, b: 1 }, [{ $unset: ["b"] }], { a: 1 }],
  [{ a: 1, b: 1 }, [{ $set: { b: "$$REMOVE" } }], { a: 1 }],
  [{ a: 1 }, [{ $set: { b: { $literal: "$a" } } }], { a: 1, b: "$a" }],
  [{ a: 1 }, [{ $replaceWith: { $mergeObjects: ["$$ROOT", { b: 2 }] } }], { a: 1, b: 2 }],
  [
    { a: [1, 2, 3] },
    [{ $set: { a: { $filter: { input: "$a", cond: { $ne: ["$$this", 2] } } } } }],
    { a: [1, 3] },
  ],
];

const isReplacement = (update: Update): boolean =>
  !Array.isArray(update) && Object.keys(update).every((name) => !name.startsWith("$"));

test.each(answers)("%j after %j is %j", async (before, update, after) => {
  const collection = setup().collection<{ _id: number }>();
  await collection.insertOne({ _id: 1, ...before });
  const result = isReplacement(update)
    ? await collection.replaceOne({ _id: 1 }, update)
    : await collection.updateOne({ _id: 1 }, update as UpdateFilter<{ _id: number }>);
  expect(await collection.findOne()).toEqual({ _id: 1, ...after });
  expect(result).toMatchObject({
    matchedCount: 1,
    modifiedCount: JSON.stringify(before) === JSON.stringify(after) ? 0 : 1,
  });
});

test.each([
  [{ $wrong: { a: 1 } }, 9],
  [{ $set: { a: 1 }, $inc: { a: 1 } }, 40],
  [{ $set: { a: 1, "a.b": 1 } }, 40],
  [{ $inc: { s: 1 } }, 14],
  [{ $inc: { big: Long.fromNumber(1) } }, 2],
  [{ $set: { "s.x": 1 } }, 28],
  [{ $push: { s: 1 } }, 2],
  [{ $set: { _id: 2 } }, 66],
  [[{ $match: {} }], 72],
  [[{ $set: { _id: 2 } }], 66],
] as [Update, number][])("%j fails with code %i and leaves the document alone", async (update, code) => {
  const collection = setup().collection<{ _id: number }>();
  const before = { _id: 1, a: 1, s: "text", big: Long.MAX_VALUE };
  await collection.insertOne(before);
  await expect(
    collection.updateOne({ _id: 1 }, update as UpdateFilter<{ _id: number }>),
  ).rejects.toMatchObject({ code });
  expect(await collection.findOne({}, { promoteLongs: false })).toMatchObject({ _id: 1, s: "text" });
});

test("changes the elements that array filters and the positional operator name", async () => {
  const collection = setup().collection<{ _id: number; a: { k: number; v: number }[] }>();
  await collection.insertOne({
    _id: 1,
    a: [
      { k: 1, v: 0 },
      { k: 2, v: 0 },
      { k: 2, v: 0 },
    ],
  });
  await collection.updateOne({ _id: 1 }, { $set: { "a.$[e].v": 5 } }, { arrayFilters: [{ "e.k": 2 }] });
  await collection.updateOne({ "a.k": 1 }, { $set: { "a.$.v": 9 } });
  expect((await collection.findOne())?.a.map(({ v }) => v)).toEqual([9, 5, 5]);
});

test("an upsert takes its fields from the equalities of the filter", async () => {
  const collection = setup().collection();
  const result = await collection.updateOne(
    { a: 1, "b.c": { $eq: 2 }, d: { $gt: 5 }, e: { $in: [3] } },
    { $set: { f: 4 }, $setOnInsert: { g: 5 } },
    { upsert: true },
  );
  expect(result).toMatchObject({ matchedCount: 0, upsertedCount: 1 });
  expect(await collection.findOne({}, { projection: { _id: 0 } })).toEqual({
    a: 1,
    b: { c: 2 },
    e: 3,
    f: 4,
    g: 5,
  });
});

test("an upsert with a pipeline sees what the filter says, and the time", async () => {
  const collection = setup().collection<{ _id: string }>();
  const job = { queue: "$$ROOT" };
  const update = [
    {
      $replaceWith: {
        $cond: [
          { $eq: [{ $type: "$at" }, "missing"] },
          { $mergeObjects: [{ _id: "$_id" }, { $literal: job }, { at: "$$NOW" }] },
          "$$ROOT",
        ],
      },
    },
  ];
  const first = await collection.updateOne({ _id: "x" }, update, { upsert: true });
  const second = await collection.updateOne({ _id: "x" }, update, { upsert: true });
  expect([first.upsertedCount, second.upsertedCount, second.modifiedCount]).toEqual([1, 0, 0]);
  expect(await collection.findOne()).toEqual({ _id: "x", queue: "$$ROOT", at: expect.any(Date) });
});
