import { Double, Long } from "mongodb";
import { expect, test } from "vitest";
import { useClient } from "../testing/use-server.ts";

const setup = useClient();

const root = {
  n: 5,
  x: 2.5,
  s: "text",
  at: new Date(1_000_000),
  list: [3, 1, 2],
  docs: [{ v: 1 }, { v: 2 }, {}, 7],
  empty: [],
  nothing: null,
  inner: { a: { b: 1 } },
};

/** What the server answers for an expression; `undefined` leaves the field out. */
const answers: readonly (readonly [expression: unknown, answer: unknown])[] = [
  ["$n", 5],
  ["$missing", undefined],
  ["$inner.a.b", 1],
  ["$docs.v", [1, 2]],
  ["$list.0", []],
  [{ $literal: "$n" }, "$n"],
  [{ a: "$n", b: "$missing" }, { a: 5 }],
  [
    ["$n", "$missing"],
    [5, null],
  ],
  [{ $add: ["$n", 1] }, 6],
  [{ $add: ["$n", "$missing"] }, null],
  [{ $add: ["$at", 500] }, new Date(1_000_500)],
  [{ $subtract: ["$at", 500] }, new Date(999_500)],
  [{ $type: { $subtract: ["$at", "$at"] } }, "long"],
  [{ $type: { $add: [1, 2] } }, "int"],
  [{ $type: { $add: [2_147_483_647, 1] } }, "long"],
  [{ $type: { $add: [1, new Double(2)] } }, "double"],
  [{ $type: { $multiply: [Long.fromNumber(2), 3] } }, "long"],
  [{ $divide: ["$n", 2] }, 2.5],
  [{ $mod: ["$n", 3] }, 2],
  [{ $floor: "$x" }, 2],
  [{ $round: ["$x", 0] }, 2],
  [{ $trunc: -2.7 }, -2],
  [{ $max: ["$n", null, "$x"] }, 5],
  [{ $min: ["$n", "$nothing", "$x"] }, 2.5],
  [{ $max: ["$missing", null] }, null],
  [{ $max: "$list" }, 3],
  [{ $max: ["$at", new Date(5)] }, new Date(1_000_000)],
  [{ $sum: "$list" }, 6],
  [{ $avg: "$list" }, 2],
  [{ $lt: ["$missing", null] }, true],
  [{ $lt: [null, "$at"] }, true],
  [{ $gt: ["$s", 1000] }, true],
  [{ $eq: ["$missing", null] }, false],
  [{ $cmp: [1, 2] }, -1],
  [{ $and: [1, "x", []] }, true],
  [{ $or: [0, null, false] }, false],
  [{ $not: ["$missing"] }, true],
  [{ $cond: [{ $gt: ["$n", 3] }, "yes", "no"] }, "yes"],
  [{ $cond: { if: null, then: 1, else: 2 } }, 2],
  [{ $ifNull: ["$missing", "$nothing", 3] }, 3],
  [{ $switch: { branches: [{ case: { $eq: ["$n", 5] }, then: "five" }], default: "none" } }, "five"],
  [{ $let: { vars: { y: { $add: ["$n", 1] } }, in: { $multiply: ["$$y", 2] } } }, 12],
  [{ $size: "$list" }, 3],
  [{ $isArray: ["$n"] }, false],
  [{ $arrayElemAt: ["$list", -1] }, 2],
  [{ $arrayElemAt: ["$list", 9] }, undefined],
  [{ $first: "$list" }, 3],
  [{ $concatArrays: ["$list", [9]] }, [3, 1, 2, 9]],
  [{ $concatArrays: ["$list", "$missing"] }, null],
  [{ $filter: { input: "$list", as: "i", cond: { $gte: ["$$i", 2] } } }, [3, 2]],
  [{ $map: { input: "$list", in: { $add: ["$$this", 1] } } }, [4, 2, 3]],
  [{ $reduce: { input: "$list", initialValue: 0, in: { $add: ["$$value", "$$this"] } } }, 6],
  [{ $in: [2, "$list"] }, true],
  [{ $slice: ["$list", 1, 5] }, [1, 2]],
  [{ $range: [0, 5, 2] }, [0, 2, 4]],
  [{ $reverseArray: "$list" }, [2, 1, 3]],
  [{ $sortArray: { input: "$list", sortBy: 1 } }, [1, 2, 3]],
  [{ $setDifference: ["$list", [1]] }, [3, 2]],
  [{ $setIsSubset: [[1], "$list"] }, true],
  [{ $mergeObjects: ["$inner", { c: 1 }, null] }, { a: { b: 1 }, c: 1 }],
  [{ $objectToArray: { a: 1 } }, [{ k: "a", v: 1 }]],
  [{ $getField: { field: "n", input: "$$ROOT" } }, 5],
  [{ $concat: ["$s", "!"] }, "text!"],
  [{ $concat: ["$s", "$missing"] }, null],
  [{ $toUpper: "$s" }, "TEXT"],
  [{ $strLenCP: "a\u{1f600}" }, 2],
  [{ $substrCP: ["$s", 1, 2] }, "ex"],
  [{ $split: ["a,b", ","] }, ["a", "b"]],
  [{ $regexMatch: { input: "$s", regex: "^T", options: "i" } }, true],
  [{ $toString: "$n" }, "5"],
  [{ $toLong: "$at" }, 1_000_000],
  [{ $toDate: 5 }, new Date(5)],
  [{ $type: "$missing" }, "missing"],
  [{ $type: "$$NOW" }, "date"],
  [{ $dateAdd: { startDate: "$at", unit: "second", amount: 2 } }, new Date(1_002_000)],
  ["$$REMOVE", undefined],
];

test.each(answers)("%j gives %j", async (expression, answer) => {
  const collection = setup().collection();
  await collection.insertOne({ ...root });
  const [result] = await collection.aggregate([{ $replaceWith: { answer: expression } }]).toArray();
  expect(result).toEqual(answer === undefined ? {} : { answer });
});

test.each([
  [{ $size: "$n" }, 17_124],
  [{ $divide: ["$n", 0] }, 2],
  [{ $add: ["$s", 1] }, 14],
  [{ $cond: [1, 2] }, 16_020],
  ["$$nobody", 17_276],
])("%j fails with code %i", async (expression, code) => {
  const collection = setup().collection();
  await collection.insertOne({ ...root });
  const failing = collection.aggregate([{ $replaceWith: { answer: expression } }]).toArray();
  await expect(failing).rejects.toMatchObject({ code });
});
