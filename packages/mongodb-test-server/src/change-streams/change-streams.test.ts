import type { ChangeStream, ChangeStreamDocument, Document } from "mongodb";
import { expect, test } from "vitest";
import { useClient } from "../testing/use-server.ts";

const setup = useClient();

const take = async (stream: ChangeStream, count: number): Promise<ChangeStreamDocument[]> => {
  const events: ChangeStreamDocument[] = [];
  while (events.length < count) events.push(await stream.next());
  return events;
};

const openStream = async (stream: ChangeStream): Promise<void> => {
  await stream.tryNext();
};

test("reports inserts, updates, replacements and deletes in order", async () => {
  const jobs = setup().collection<{ _id: number } & Document>();
  await jobs.insertOne({ _id: 0 });
  await using stream = jobs.watch([], { maxAwaitTimeMS: 20 });
  await openStream(stream);
  await jobs.insertOne({ _id: 1, a: { b: 1, c: 1 }, list: [1, 2], gone: 1 });
  await jobs.updateOne({ _id: 1 }, { $set: { "a.b": 2, "list.1": 5 }, $unset: { gone: "" } });
  await jobs.replaceOne({ _id: 1 }, { z: 1 });
  await jobs.deleteOne({ _id: 1 });
  const events = await take(stream, 4);
  expect(events).toMatchObject([
    { operationType: "insert", documentKey: { _id: 1 }, fullDocument: { _id: 1, a: { b: 1, c: 1 } } },
    {
      operationType: "update",
      updateDescription: { updatedFields: { "a.b": 2, "list.1": 5 }, removedFields: ["gone"] },
    },
    { operationType: "replace", fullDocument: { _id: 1, z: 1 } },
    { operationType: "delete", documentKey: { _id: 1 } },
  ]);
});

test("reports a transaction when it commits, with one cluster time", async () => {
  const jobs = setup().collection<{ _id: number } & Document>();
  await jobs.insertOne({ _id: 0 });
  await using stream = jobs.watch([], { maxAwaitTimeMS: 20 });
  await openStream(stream);
  await using session = setup().client.startSession();
  session.startTransaction();
  await jobs.insertOne({ _id: 1 }, { session });
  await jobs.insertOne({ _id: 2 });
  await jobs.insertOne({ _id: 3 }, { session });
  await session.commitTransaction();
  await using aborted = setup().client.startSession();
  aborted.startTransaction();
  await jobs.insertOne({ _id: 4 }, { session: aborted });
  await aborted.abortTransaction();
  await jobs.insertOne({ _id: 5 });
  const events = await take(stream, 4);
  expect(events.map((event) => ("documentKey" in event ? event.documentKey._id : undefined))).toEqual([
    2, 1, 3, 5,
  ]);
  expect(events[1]?.clusterTime).toEqual(events[2]?.clusterTime);
});

test("resumes behind a token, filters, and looks up documents", async () => {
  const jobs = setup().collection<{ _id: number } & Document>();
  await jobs.insertOne({ _id: 0, n: 0 });
  await using stream = jobs.watch([], { maxAwaitTimeMS: 20 });
  await openStream(stream);
  for (const _id of [1, 2, 3]) await jobs.insertOne({ _id, n: 0 });
  const [first] = await take(stream, 1);
  await jobs.updateOne({ _id: 3 }, { $set: { n: 1 } });
  await jobs.updateOne({ _id: 3 }, { $set: { n: 2 } });

  await using resumed = jobs.watch([{ $match: { operationType: "update" } }], {
    resumeAfter: first?._id,
    fullDocument: "updateLookup",
    maxAwaitTimeMS: 20,
  });
  expect(await take(resumed, 2)).toMatchObject([
    { updateDescription: { updatedFields: { n: 1 } }, fullDocument: { _id: 3, n: 2 } },
    { updateDescription: { updatedFields: { n: 2 } }, fullDocument: { _id: 3, n: 2 } },
  ]);
  await using rest = jobs.watch([], { resumeAfter: first?._id, maxAwaitTimeMS: 20 });
  expect(await take(rest, 2)).toMatchObject([{ documentKey: { _id: 2 } }, { documentKey: { _id: 3 } }]);
});

test("a stream of a database wakes up for its collections, and the end of a collection ends its stream", async () => {
  const jobs = setup().collection<{ _id: number }>();
  await jobs.insertOne({ _id: 0 });
  await using database = setup().client.db(jobs.dbName).watch([], { maxAwaitTimeMS: 5000 });
  await using stream = jobs.watch([], { maxAwaitTimeMS: 20 });
  await openStream(stream);
  const woken = database.next();
  await new Promise((resolve) => {
    setTimeout(resolve, 30);
  });
  await jobs.insertOne({ _id: 1 });
  expect(await woken).toMatchObject({ operationType: "insert", ns: { coll: jobs.collectionName } });
  await jobs.drop();
  expect(await take(stream, 3)).toMatchObject([
    { operationType: "insert" },
    { operationType: "drop" },
    { operationType: "invalidate" },
  ]);
});
