import { Decimal128, Double, Int32, Long, MaxKey, MinKey, ObjectId, Timestamp } from "mongodb";
import type { Document, Filter } from "mongodb";
import { expect, test } from "vitest";
import { useClient } from "../testing/use-server.ts";

const setup = useClient();

const date = new Date("2024-05-06T07:08:09.010Z");

/** A field `a`, a filter, and whether the server matches it. */
const answers: readonly (readonly [document: Document, filter: Filter<Document>, matches: boolean])[] = [
  [{ a: 1 }, { a: 1 }, true],
  [{ a: new Double(1) }, { a: new Int32(1) }, true],
  [{ a: Long.fromNumber(1) }, { a: 1 }, true],
  [{ a: Decimal128.fromString("1") }, { a: 1 }, true],
  [{ a: 1 }, { a: "1" }, false],
  [{}, { a: null }, true],
  [{ a: null }, { a: null }, true],
  [{ a: 0 }, { a: null }, false],
  [{}, { a: { $ne: null } }, false],
  [{}, { a: { $exists: false } }, true],
  [{ a: null }, { a: { $exists: false } }, false],
  [{ a: null }, { a: { $exists: true } }, true],
  // Comparisons stay within a type.
  [{ a: null }, { a: { $lt: date } }, false],
  [{}, { a: { $lte: date } }, false],
  [{ a: 5 }, { a: { $lt: "z" } }, false],
  [{ a: "5" }, { a: { $gt: 1 } }, false],
  [{ a: null }, { a: { $gte: null } }, true],
  [{}, { a: { $lte: null } }, true],
  [{ a: null }, { a: { $gt: null } }, false],
  [{ a: Number.NaN }, { a: { $lt: 5 } }, false],
  [{ a: Number.NaN }, { a: Number.NaN }, true],
  [{ a: 5 }, { a: { $lt: new MaxKey() } }, true],
  [{ a: "x" }, { a: { $gt: new MinKey() } }, true],
  [{ a: true }, { a: { $gt: false } }, true],
  [{ a: date }, { a: { $gt: new Date(0) } }, true],
  [{ a: new Timestamp({ t: 2, i: 1 }) }, { a: { $gt: new Timestamp({ t: 1, i: 9 }) } }, true],
  [
    { a: new ObjectId("65f000000000000000000000") },
    { a: { $gt: new ObjectId("000000000000000000000000") } },
    true,
  ],
  // Arrays: an element matches, or the whole.
  [{ a: [1, 2] }, { a: 1 }, true],
  [{ a: [1, 2] }, { a: [1, 2] }, true],
  [{ a: [1, 2] }, { a: [2, 1] }, false],
  [{ a: [[1, 2]] }, { a: [1, 2] }, true],
  [{ a: [[1, 2]] }, { a: 1 }, false],
  [{ a: [1, 10] }, { a: { $gt: 5, $lt: 3 } }, true],
  [{ a: [1, 10] }, { a: { $elemMatch: { $gt: 5, $lt: 8 } } }, false],
  [{ a: [1, 2] }, { a: { $ne: 1 } }, false],
  [{ a: [1, 2] }, { a: { $nin: [3] } }, true],
  [{ a: [] }, { a: null }, false],
  [{ a: [null] }, { a: null }, true],
  [{ a: [] }, { a: { $size: 0 } }, true],
  [{ a: [1, [2]] }, { a: { $size: 2 } }, true],
  [{ a: [1, 2, 3] }, { a: { $all: [3, 1] } }, true],
  [{ a: [1] }, { a: { $all: [] } }, false],
  [{ a: [1, "x"] }, { a: { $type: "string" } }, true],
  [{ a: [1] }, { a: { $type: "array" } }, true],
  // Paths through documents and arrays.
  [{ a: { b: 1 } }, { "a.b": 1 }, true],
  [{ a: { b: 1 } }, { a: { b: 1 } }, true],
  [{ a: { b: 1, c: 2 } }, { a: { b: 1 } }, false],
  [{ a: { c: 2, b: 1 } }, { a: { b: 1, c: 2 } }, false],
  [{ a: [{ b: 1 }, { b: 2 }] }, { "a.b": 2 }, true],
  [{ a: [{ b: 1 }, { b: 2 }] }, { "a.1.b": 2 }, true],
  [{ a: [{ b: 1 }, { b: 2 }] }, { "a.0.b": 2 }, false],
  [{ a: 4 }, { "a.b": null }, true],
  [{ a: [] }, { "a.b": null }, false],
  [{ a: [1, 2] }, { "a.b": null }, false],
  [{ a: [{ b: 1 }, {}] }, { "a.b": null }, true],
  [{ a: [{ b: 1 }, {}] }, { "a.b": { $exists: false } }, false],
  [
    {
      a: [
        { b: 1, c: 1 },
        { b: 2, c: 2 },
      ],
    },
    { "a.b": 1, "a.c": 2 },
    true,
  ],
  [
    {
      a: [
        { b: 1, c: 1 },
        { b: 2, c: 2 },
      ],
    },
    { a: { $elemMatch: { b: 1, c: 2 } } },
    false,
  ],
  [{ a: [{ b: [1, 2] }] }, { "a.b": 2 }, true],
  // Logic.
  [{ a: 1 }, { $or: [{ a: 1 }, { b: 1 }] }, true],
  [{ a: 1 }, { $nor: [{ a: 1 }, { b: 1 }] }, false],
  [{ a: 1 }, { a: { $not: { $gt: 0 } } }, false],
  [{}, { a: { $not: { $gt: 0 } } }, true],
  [{ a: "text" }, { a: { $not: /^t/ } }, false],
  [{ a: 1 }, { a: { $in: [2, null] } }, false],
  [{}, { a: { $in: [2, null] } }, true],
  [{ a: "abc" }, { a: { $in: [/^a/, 1] } }, true],
  [{ a: "ABC" }, { a: { $regex: "^b|c$", $options: "i" } }, true],
  [{ a: 7 }, { a: { $mod: [4, 3] } }, true],
  [{ a: "$$ROOT" }, { a: { $eq: "$$ROOT" } }, true],
  // Expressions compare across types: null and a missing field are less than a date.
  [{ a: null }, { $expr: { $lte: ["$a", date] } }, true],
  [{}, { $expr: { $lt: ["$a", null] } }, true],
  [{ a: [1, 2] }, { $expr: { $eq: ["$a", 1] } }, false],
  [{ a: 5 }, { $expr: { $lt: ["$a", "z"] } }, true],
  [{ a: date }, { $expr: { $lt: ["$a", "$$NOW"] } }, true],
];

test.each(answers)("%j with the filter %j: %s", async (document, filter, matches) => {
  const collection = setup().collection();
  await collection.insertOne(document);
  expect(await collection.countDocuments(filter)).toBe(matches ? 1 : 0);
});

test("sorts by type first, then by value", async () => {
  const values = [
    new MinKey(),
    null,
    Number.NaN,
    -1,
    Long.fromString("9007199254740993"),
    "a",
    "\uffee",
    "\u{1f600}",
    { a: 1 },
    { b: 0 },
    new ObjectId("000000000000000000000001"),
    false,
    true,
    new Date(5),
    new Timestamp({ t: 1, i: 1 }),
    /a/,
    new MaxKey(),
  ];
  const collection = setup().collection<{ _id: number; a: unknown }>();
  await collection.insertMany(values.map((a, _id) => ({ _id, a })).reverse());
  const up = await collection.find().sort({ a: 1 }).toArray();
  const down = await collection.find().sort({ a: -1 }).toArray();
  expect(up.map(({ _id }) => _id)).toEqual(values.map((_, i) => i));
  expect(down.map(({ _id }) => _id)).toEqual(values.map((_, i) => i).reverse());
});

test("sorts arrays by their least element going up, by their greatest going down", async () => {
  const collection = setup().collection<{ _id: number; a?: unknown }>();
  await collection.insertMany([{ _id: 1, a: [2, 9] }, { _id: 2, a: [5] }, { _id: 3, a: [] }, { _id: 4 }]);
  const ids = async (direction: 1 | -1) =>
    (await collection.find().sort({ a: direction }).toArray()).map(({ _id }) => _id);
  expect(await ids(1)).toEqual([3, 4, 1, 2]);
  expect(await ids(-1)).toEqual([1, 2, 4, 3]);
});

test.each([
  [{ a: { $near: [1, 2] } }, /\$near/],
  [{ a: { $wrong: 1 } }, /\$wrong/],
  [{ $wrong: 1 }, /\$wrong/],
  [{ $expr: { $wrong: 1 } }, /\$wrong/],
])("refuses the filter %j by name", async (filter, message) => {
  const collection = setup().collection();
  await collection.insertOne({ a: 1 });
  await expect(collection.findOne(filter)).rejects.toThrow(message);
});
