import type { MongoServerError } from "mongodb";
import { expect, test } from "vitest";
import { useServer } from "../testing/use-server.ts";

const setup = useServer();

interface Counter {
  _id: number;
  n: number;
}

const withCounter = async () => {
  const counters = setup().collection<Counter>();
  await counters.insertOne({ _id: 1, n: 0 });
  return counters;
};

test("a write whose reply is lost is repeated by the driver and applied once", async () => {
  const counters = await withCounter();
  setup().server.faults.add({ commands: ["update"], fault: { kind: "cutAfter" } });
  expect(await counters.updateOne({ _id: 1 }, { $inc: { n: 1 } })).toMatchObject({
    matchedCount: 1,
    modifiedCount: 1,
  });
  setup().server.faults.add({ commands: ["findAndModify"], fault: { kind: "cutAfter" } });
  const found = await counters.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }, { returnDocument: "after" });
  expect(found).toEqual({ _id: 1, n: 2 });
  setup().server.faults.add({ commands: ["insert"], fault: { kind: "cutAfter" } });
  expect(
    await counters.insertMany([
      { _id: 2, n: 0 },
      { _id: 3, n: 0 },
    ]),
  ).toMatchObject({ insertedCount: 2 });
  expect(await counters.find().sort({ _id: 1 }).toArray()).toHaveLength(3);
});

test("a bulk write whose reply is lost answers each of its statements as before", async () => {
  const counters = await withCounter();
  setup().server.faults.add({ commands: ["update"], fault: { kind: "cutAfter" } });
  const result = await counters.bulkWrite(
    [
      { updateOne: { filter: { _id: 1 }, update: { $inc: { n: 5 } } } },
      { updateOne: { filter: { _id: 7 }, update: { $inc: { n: 5 } }, upsert: true } },
      { updateOne: { filter: { _id: 8 }, update: { $inc: { n: 5 } } } },
    ],
    { ordered: false },
  );
  expect(result).toMatchObject({
    matchedCount: 1,
    modifiedCount: 1,
    upsertedCount: 1,
    upsertedIds: { 1: 7 },
  });
  expect(await counters.find().sort({ _id: 1 }).toArray()).toEqual([
    { _id: 1, n: 5 },
    { _id: 7, n: 5 },
  ]);
});

test("a write of many documents is not repeated: its lost reply is the caller's business", async () => {
  const counters = await withCounter();
  setup().server.faults.add({ commands: ["update"], fault: { kind: "cutAfter" } });
  await expect(counters.updateMany({}, { $inc: { n: 1 } })).rejects.toMatchObject({
    name: "MongoNetworkError",
  });
  expect(await counters.findOne()).toMatchObject({ n: 1 });
  setup().server.faults.add({ commands: ["update"], fault: { kind: "cutBefore" } });
  await expect(counters.updateMany({}, { $inc: { n: 1 } })).rejects.toMatchObject({
    name: "MongoNetworkError",
  });
  expect(await counters.findOne()).toMatchObject({ n: 1 });
});

test("a commit whose reply is lost is repeated and finds the transaction committed", async () => {
  const counters = await withCounter();
  await using session = setup().client.startSession();
  session.startTransaction();
  await counters.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session });
  setup().server.faults.add({ commands: ["commitTransaction"], fault: { kind: "cutAfter" } });
  await session.commitTransaction();
  expect(await counters.findOne()).toMatchObject({ n: 1 });
});

test("a commit that is cut off again and again has an unknown result", async () => {
  const counters = await withCounter();
  await using session = setup().client.startSession();
  session.startTransaction();
  await counters.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session });
  setup().server.faults.add({ commands: ["commitTransaction"], times: 2, fault: { kind: "cutBefore" } });
  await expect(session.commitTransaction()).rejects.toSatisfy((error: MongoServerError) =>
    error.hasErrorLabel("UnknownTransactionCommitResult"),
  );
  // The connection is gone, the transaction is not.
  expect(setup().server.openTransactions()).toBe(1);
  await session.commitTransaction();
  expect(await counters.findOne()).toMatchObject({ n: 1 });
});

test("an error on demand has the labels that belong to its code", async () => {
  const counters = await withCounter();
  const { faults } = setup().server;
  faults.add({ commands: ["update"], fault: { kind: "error", code: 91 } });
  expect(await counters.updateOne({ _id: 1 }, { $inc: { n: 1 } })).toMatchObject({ modifiedCount: 1 });
  faults.add({ commands: ["update"], skip: 1, fault: { kind: "error", code: 2, message: "no" } });
  await counters.updateOne({ _id: 1 }, { $inc: { n: 1 } });
  await expect(counters.updateOne({ _id: 1 }, { $inc: { n: 1 } })).rejects.toMatchObject({
    code: 2,
    message: "no",
  });
  expect(await counters.findOne()).toMatchObject({ n: 2 });
});

test("writes go on with the new primary after a step-down, and open transactions are over", async () => {
  const counters = await withCounter();
  await using session = setup().client.startSession();
  session.startTransaction();
  await counters.updateOne({ _id: 1 }, { $inc: { n: 100 } }, { session });
  setup().server.stepDown(100);
  await counters.updateOne({ _id: 1 }, { $inc: { n: 1 } });
  await expect(session.commitTransaction()).rejects.toMatchObject({ code: 251 });
  expect(await counters.findOne()).toMatchObject({ n: 1 });
});

test("a step-down after a write took effect loses the reply, not the write", async () => {
  const counters = await withCounter();
  setup().server.faults.add({ commands: ["update"], fault: { kind: "stepDownAfter", ms: 100 } });
  expect(await counters.updateOne({ _id: 1 }, { $inc: { n: 1 } })).toMatchObject({ modifiedCount: 1 });
  expect(await counters.findOne()).toMatchObject({ n: 1 });
});

test("a write that waits for a transaction is interrupted by the step-down and repeated", async () => {
  const counters = await withCounter();
  await using session = setup().client.startSession();
  session.startTransaction();
  await counters.updateOne({ _id: 1 }, { $inc: { n: 100 } }, { session });
  const waiting = counters.updateOne({ _id: 1 }, { $inc: { n: 1 } });
  await counters.findOne({ _id: 1 });
  setup().server.stepDown(50);
  await waiting;
  expect(await counters.findOne()).toMatchObject({ n: 1 });
});

test("a slow reply runs into the driver's timeout", async () => {
  await withCounter();
  const client = setup().connect({ socketTimeoutMS: 60, retryReads: false });
  setup().server.faults.add({ commands: ["ping"], fault: { kind: "delayAfter", ms: 300 } });
  await expect(client.db("test").command({ ping: 1 })).rejects.toMatchObject({
    name: "MongoNetworkTimeoutError",
  });
});

test("the fail point of the drivers' specifications", async () => {
  const counters = await withCounter();
  const admin = setup().client.db("admin");
  await admin.command({
    configureFailPoint: "failCommand",
    mode: { times: 1 },
    data: { failCommands: ["insert"], errorCode: 112, errorLabels: ["Mine"] },
  });
  const failing = counters.insertOne({ _id: 2, n: 0 });
  await expect(failing).rejects.toSatisfy(
    (error: MongoServerError) => error.code === 112 && error.hasErrorLabel("Mine"),
  );
  await counters.insertOne({ _id: 2, n: 0 });
  await expect(admin.command({ configureFailPoint: "another", mode: "alwaysOn" })).rejects.toThrow(/another/);
});

test("an error that tells of a change of state keeps no driver waiting for a heartbeat", async () => {
  const client = setup().connect({ heartbeatFrequencyMS: 600_000, serverSelectionTimeoutMS: 5_000 });
  const counters = client.db("late").collection<Counter>("counters");
  await counters.insertOne({ _id: 1, n: 0 });
  for (const code of [91, 10_107, 11_600, 189]) {
    setup().server.faults.add({ commands: ["find"], fault: { kind: "error", code } });
    expect(await counters.findOne({ _id: 1 })).toEqual({ _id: 1, n: 0 });
  }
  setup().server.stepDown(1);
  // Their refusals arrive before and after the news of the next primary.
  await Promise.allSettled(
    Array.from({ length: 50 }, () => counters.updateOne({ _id: 1 }, { $inc: { n: 1 } })),
  );
  expect(await counters.findOne({ _id: 1 }, { projection: { _id: 1 } })).toEqual({ _id: 1 });
});
