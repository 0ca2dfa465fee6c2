import type { ClientSession, Collection } from "mongodb";
import { expect, test } from "vitest";
import { useClient } from "../testing/use-server.ts";

const setup = useClient();

interface Account {
  _id: string;
  n: number;
}

const withAccounts = async (...ids: string[]): Promise<Collection<Account>> => {
  const accounts = setup().collection<Account>();
  await accounts.insertMany(ids.map((_id) => ({ _id, n: 0 })));
  return accounts;
};

const begin = (): ClientSession => {
  const session = setup().client.startSession();
  session.startTransaction({ readConcern: { level: "snapshot" }, writeConcern: { w: "majority" } });
  return session;
};

test("a transaction sees its own writes and nothing that was committed after its first statement", async () => {
  const accounts = await withAccounts("a", "b");
  await using session = begin();
  expect(await accounts.findOne({ _id: "a" }, { session })).toEqual({ _id: "a", n: 0 });
  await accounts.updateOne({ _id: "b" }, { $set: { n: 7 } });
  await accounts.insertOne({ _id: "c", n: 1 });
  await accounts.deleteOne({ _id: "a" });

  await accounts.insertOne({ _id: "d", n: 2 }, { session });
  const seen = await accounts.find({}, { session, sort: { _id: 1 } }).toArray();
  expect(seen.map(({ _id, n }) => `${_id}${n}`)).toEqual(["a0", "b0", "d2"]);
  expect(await accounts.countDocuments()).toBe(2);
  await session.commitTransaction();
  expect((await accounts.find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id)).toEqual(["b", "c", "d"]);
});

test("the snapshot is taken with the first statement, not with the start", async () => {
  const accounts = await withAccounts("a");
  await using session = begin();
  await accounts.updateOne({ _id: "a" }, { $set: { n: 1 } });
  expect(await accounts.findOne({ _id: "a" }, { session })).toMatchObject({ n: 1 });
  await session.abortTransaction();
});

test("of two transactions that write the same document the second conflicts at once and is over", async () => {
  const accounts = await withAccounts("a", "b");
  await using first = begin();
  await using second = begin();
  await accounts.updateOne({ _id: "a" }, { $inc: { n: 1 } }, { session: first });
  await accounts.updateOne({ _id: "b" }, { $inc: { n: 1 } }, { session: second });
  const conflict = accounts.updateOne({ _id: "a" }, { $inc: { n: 1 } }, { session: second });
  await expect(conflict).rejects.toMatchObject({ code: 112, codeName: "WriteConflict" });
  await expect(conflict).rejects.toSatisfy((error: Error & { hasErrorLabel(label: string): boolean }) =>
    error.hasErrorLabel("TransientTransactionError"),
  );
  await expect(accounts.findOne({}, { session: second })).rejects.toMatchObject({ code: 251 });
  await first.commitTransaction();
  expect(await accounts.find().sort({ _id: 1 }).toArray()).toEqual([
    { _id: "a", n: 1 },
    { _id: "b", n: 0 },
  ]);
});

test("writing what was committed after the snapshot conflicts", async () => {
  const accounts = await withAccounts("a");
  await using session = begin();
  await accounts.findOne({ _id: "a" }, { session });
  await accounts.updateOne({ _id: "a" }, { $set: { n: 1 } });
  const conflict = accounts.updateOne({ _id: "a" }, { $set: { n: 2 } }, { session });
  await expect(conflict).rejects.toMatchObject({ code: 112 });
});

test("an update that changes nothing takes no lock", async () => {
  const accounts = await withAccounts("a");
  await using first = begin();
  await using second = begin();
  const update = { $set: { n: 0 } };
  expect(await accounts.updateOne({ _id: "a" }, update, { session: first })).toMatchObject({
    modifiedCount: 0,
  });
  await accounts.updateOne({ _id: "a" }, { $set: { n: 5 } }, { session: second });
  await second.commitTransaction();
  await first.commitTransaction();
});

test("write skew is possible", async () => {
  const accounts = await withAccounts("a", "b");
  await using first = begin();
  await using second = begin();
  for (const session of [first, second]) await accounts.find({}, { session }).toArray();
  await accounts.updateOne({ _id: "a" }, { $set: { n: 1 } }, { session: first });
  await accounts.updateOne({ _id: "b" }, { $set: { n: 1 } }, { session: second });
  await first.commitTransaction();
  await second.commitTransaction();
  expect(await accounts.countDocuments({ n: 1 })).toBe(2);
});

test("a write outside transactions waits for the transaction that holds its document", async () => {
  const accounts = await withAccounts("a");
  await using session = begin();
  await accounts.updateOne({ _id: "a" }, { $inc: { n: 1 } }, { session });
  let isDone = false;
  const stale = accounts.updateOne({ _id: "a", n: 0 }, { $inc: { n: 100 } });
  const waiting = accounts.updateOne({ _id: "a" }, { $inc: { n: 10 } }).then((result) => {
    isDone = true;
    return result;
  });
  // A round trip later it is still waiting.
  await accounts.findOne({ _id: "a" });
  await accounts.findOne({ _id: "a" });
  expect(isDone).toBe(false);
  await session.commitTransaction();
  expect(await waiting).toMatchObject({ matchedCount: 1 });
  // It looks again at what the transaction has left.
  expect(await stale).toMatchObject({ matchedCount: 0 });
  expect(await accounts.findOne()).toEqual({ _id: "a", n: 11 });
});

test("maxTimeMS limits the wait; what a long update has done until then stays", async () => {
  const accounts = await withAccounts("a", "b", "c");
  await using session = begin();
  await accounts.updateOne({ _id: "b" }, { $inc: { n: 1 } }, { session });
  const update = accounts.updateMany({}, { $set: { n: 5 } }, { maxTimeMS: 500, hint: "_id_" });
  await expect(update).rejects.toMatchObject({ code: 50, codeName: "MaxTimeMSExpired" });
  await session.abortTransaction();
  expect((await accounts.find().sort({ _id: 1 }).toArray()).map(({ n }) => n)).toEqual([5, 0, 0]);
});

test("an error of a single write ends the transaction", async () => {
  const accounts = await withAccounts("a");
  await using session = begin();
  await accounts.insertOne({ _id: "b", n: 0 }, { session });
  await expect(accounts.insertOne({ _id: "a", n: 0 }, { session })).rejects.toMatchObject({ code: 11_000 });
  await expect(session.commitTransaction()).rejects.toMatchObject({ code: 251 });
  expect(await accounts.countDocuments()).toBe(1);
});

test("a unique key that another transaction has written conflicts; one that is committed is a duplicate", async () => {
  const accounts = setup().collection<Account>();
  await accounts.createIndex({ n: 1 }, { unique: true });
  await using first = begin();
  await using second = begin();
  await accounts.insertOne({ _id: "a", n: 1 }, { session: first });
  await expect(accounts.insertOne({ _id: "b", n: 1 }, { session: second })).rejects.toMatchObject({
    code: 112,
  });
  const waiting = accounts.insertOne({ _id: "c", n: 1 });
  await first.commitTransaction();
  await expect(waiting).rejects.toMatchObject({ code: 11_000, keyPattern: { n: 1 }, keyValue: { n: 1 } });

  await using third = begin();
  await accounts.findOne({}, { session: third });
  await accounts.insertOne({ _id: "d", n: 2 });
  await expect(accounts.insertOne({ _id: "e", n: 2 }, { session: third })).rejects.toMatchObject({
    code: 112,
  });
});

test("commit can be repeated, and after an abort there is no transaction", async () => {
  const accounts = await withAccounts("a");
  await using session = begin();
  await accounts.updateOne({ _id: "a" }, { $inc: { n: 1 } }, { session });
  await session.commitTransaction();
  await session.commitTransaction();
  expect(await accounts.findOne()).toEqual({ _id: "a", n: 1 });

  session.startTransaction();
  await accounts.updateOne({ _id: "a" }, { $inc: { n: 1 } }, { session });
  await session.abortTransaction();
  expect(await accounts.findOne()).toEqual({ _id: "a", n: 1 });
});

test("an index scan in a transaction finds documents by their old keys", async () => {
  const accounts = await withAccounts("a", "b");
  await accounts.createIndex({ n: 1 });
  await using session = begin();
  await accounts.findOne({}, { session });
  await accounts.updateMany({}, { $set: { n: 9 } });
  expect(await accounts.find({ n: 0 }, { session, hint: "n_1" }).toArray()).toHaveLength(2);
  expect(await accounts.find({ n: 9 }, { session, hint: "n_1" }).toArray()).toHaveLength(0);
  expect(await accounts.find({ n: 0 }, { hint: "n_1" }).toArray()).toHaveLength(0);
  // Each document once, though the index has entries for both of its states.
  expect(await accounts.find({ n: { $gte: 0 } }, { session, hint: "n_1" }).toArray()).toHaveLength(2);
});
