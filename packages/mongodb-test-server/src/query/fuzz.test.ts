import fc from "fast-check";
import type { Document, Filter, FindOptions, IndexDescription } from "mongodb";
import { expect, test } from "vitest";
import { useServer } from "../testing/use-server.ts";

const setup = useServer();

const scalar = fc.oneof(
  fc.integer({ min: -2, max: 3 }),
  fc.constantFrom(null, true, false, "a", "b", "ab", 0.5),
  fc.integer({ min: 0, max: 2 }).map((ms) => new Date(ms)),
);
const value = fc.oneof(
  { weight: 4, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) },
);
const document = fc.record(
  { a: value, b: value, c: fc.record({ d: value }, { requiredKeys: [] }) },
  { requiredKeys: [] },
);

const path = fc.constantFrom("a", "b", "c.d");
const comparison = fc.constantFrom("$eq", "$ne", "$gt", "$gte", "$lt", "$lte");
const condition = fc.oneof(
  fc.tuple(comparison, scalar).map(([operator, operand]): Document => ({ [operator]: operand })),
  fc.array(scalar, { minLength: 1, maxLength: 3 }).map((list): Document => ({ $in: list })),
  fc.array(scalar, { maxLength: 2 }).map((list): Document => ({ $nin: list })),
  fc.boolean().map((exists): Document => ({ $exists: exists })),
);
const field = fc.tuple(path, condition).map(([name, test]): Filter<Document> => ({ [name]: test }));
const filter = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .array(field, { minLength: 1, maxLength: 3 })
      .map((fields): Filter<Document> => ({ $and: fields })),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(field, { minLength: 1, maxLength: 3 })
      .map((fields): Filter<Document> => ({ $or: fields })),
  },
);
const sort = fc.dictionary(path, fc.constantFrom<1 | -1>(1, -1), { maxKeys: 2 });

/** What a filter means, as directly as it can be said. */
const rank = (x: unknown): number =>
  x === undefined || x === null
    ? 0
    : typeof x === "number"
      ? 1
      : typeof x === "string"
        ? 2
        : typeof x === "boolean"
          ? 4
          : 5;
const compare = (x: unknown, y: unknown): number => {
  if (rank(x) === 0) return 0;
  const [p, q] = [x, y].map((v) => (v instanceof Date ? v.getTime() : v)) as [number, number];
  return p < q ? -1 : p > q ? 1 : 0;
};
const valuesAt = (doc: Document, name: string): unknown[] => {
  const found: unknown = name === "c.d" ? (doc["c"] as Document | undefined)?.["d"] : doc[name];
  return Array.isArray(found) ? [found, ...(found as unknown[])] : [found];
};
const holds = (operator: string, operand: unknown, candidates: readonly unknown[]): boolean => {
  const some = (accepts: (order: number) => boolean) =>
    candidates.some((x) => !Array.isArray(x) && rank(x) === rank(operand) && accepts(compare(x, operand)));
  switch (operator) {
    case "$eq":
      return some((order) => order === 0);
    case "$ne":
      return !holds("$eq", operand, candidates);
    case "$gt":
      return rank(operand) !== 0 && some((order) => order > 0);
    case "$gte":
      return some((order) => order >= 0);
    case "$lt":
      return rank(operand) !== 0 && some((order) => order < 0);
    case "$lte":
      return some((order) => order <= 0);
    case "$in":
      return (operand as unknown[]).some((one) => holds("$eq", one, candidates));
    case "$nin":
      return !holds("$in", operand, candidates);
    default:
      return candidates.some((x) => x !== undefined) === operand;
  }
};
const means = (doc: Document, wanted: Filter<Document>): boolean => {
  const fieldHolds = (one: Document) =>
    Object.entries(one).every(([name, test]) =>
      Object.entries(test as Document).every(([operator, operand]) =>
        holds(operator, operand, valuesAt(doc, name)),
      ),
    );
  return wanted.$and?.every(fieldHolds) ?? wanted.$or?.some(fieldHolds) ?? false;
};

const indexes: IndexDescription[] = [
  { key: { a: 1, b: -1 } },
  { key: { b: 1 }, sparse: true },
  { key: { "c.d": -1, a: 1 } },
  { key: { b: 1, "c.d": 1 }, partialFilterExpression: { a: { $gt: 0 } } },
];

/** Two arrays in one index are refused by the server; so such documents have arrays in one field only. */
const withOneArray = (doc: Document): Document => {
  let seen = false;
  const keep = (x: unknown): unknown => {
    if (!Array.isArray(x)) return x;
    if (seen) return x[0] ?? null;
    seen = true;
    return x;
  };
  const inner = doc["c"] as Document | undefined;
  const result: Document = {};
  for (const name of ["a", "b"]) if (name in doc) result[name] = keep(doc[name]);
  if (inner !== undefined) result["c"] = "d" in inner ? { d: keep(inner["d"]) } : {};
  return result;
};

test("filters mean what they say, through indexes and without", { timeout: 30_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(document, { minLength: 1, maxLength: 12 }),
      fc.array(fc.tuple(filter, sort), { minLength: 1, maxLength: 6 }),
      async (given, queries) => {
        const collection = setup().collection();
        const docs = given.map((doc, _id): Document => ({ _id, ...withOneArray(doc) }));
        // Half before the indexes are made, half after.
        const half = docs.length >> 1;
        if (half > 0) await collection.insertMany(docs.slice(0, half));
        await collection.createIndexes(indexes);
        await collection.insertMany(docs.slice(half));

        for (const [wanted, order] of queries) {
          const expected = docs.filter((doc) => means(doc, wanted)).map((doc) => Number(doc["_id"]));
          const ids = async (options: FindOptions) => {
            const found = await collection.find(wanted, { ...options, sort: { ...order, _id: 1 } }).toArray();
            return found.map(({ _id }) => Number(_id));
          };
          const scanned = await ids({ hint: { $natural: 1 } });
          expect(scanned.toSorted((x, y) => x - y)).toEqual(expected);
          expect(await ids({})).toEqual(scanned);
          expect(await ids({ limit: 2 })).toEqual(scanned.slice(0, 2));
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("an index never disagrees with the documents, whatever is written", { timeout: 30_000 }, async () => {
  const write = fc.oneof(
    fc.tuple(fc.constant("set"), fc.integer({ min: 0, max: 5 }), path, scalar),
    fc.tuple(fc.constant("delete"), fc.integer({ min: 0, max: 5 }), path, scalar),
    fc.tuple(fc.constant("insert"), fc.integer({ min: 0, max: 5 }), path, scalar),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(write, { maxLength: 15 }),
      fc.boolean(),
      fc.boolean(),
      async (writes, inTransaction, commits) => {
        const collection = setup().collection<{ _id: number }>();
        await collection.createIndexes(indexes);
        await collection.insertMany([{ _id: 0 }, { _id: 1 }, { _id: 2 }]);
        const model = new Map<number, Document>([0, 1, 2].map((_id) => [_id, { _id }]));
        const before = new Map(model);
        await using session = setup().client.startSession();
        if (inTransaction) session.startTransaction();
        const options = inTransaction ? { session } : {};
        for (const [kind, _id, name, x] of writes) {
          if (kind === "insert") {
            if (model.has(_id)) continue;
            await collection.insertOne({ _id }, options);
            model.set(_id, { _id });
          } else if (kind === "delete") {
            await collection.deleteOne({ _id }, options);
            model.delete(_id);
          } else {
            await collection.updateOne({ _id }, { $set: { [name]: x } }, options);
            const doc = model.get(_id);
            if (doc !== undefined)
              model.set(_id, name === "c.d" ? { ...doc, c: { d: x } } : { ...doc, [name]: x });
          }
        }
        if (inTransaction && writes.length > 0)
          await (commits ? session.commitTransaction() : session.abortTransaction());
        const expected = inTransaction && !commits ? before : model;
        const sorted = [...expected.values()].toSorted((p, q) => Number(p["_id"]) - Number(q["_id"]));
        for (const hint of ["_id_", "a_1_b_-1", "c.d_-1_a_1"]) {
          const found = await collection.find({}, { hint }).toArray();
          expect(found.toSorted((p, q) => p._id - q._id)).toEqual(sorted);
        }
      },
    ),
    { numRuns: 50 },
  );
});
