import { expect, test } from "vitest";
import { useServer } from "../testing/use-server.ts";

let time = Date.parse("2024-01-01T00:00:00Z");
const setup = useServer({ now: () => time, transactionLifetimeMs: 60_000 });

test("the server's clock is the test's: $$NOW and the age of transactions", async () => {
  const jobs = setup().collection<{ _id: number; at?: Date }>();
  await jobs.insertMany([{ _id: 1 }, { _id: 2 }]);
  await jobs.updateOne({ _id: 1 }, [{ $set: { at: "$$NOW" } }]);
  expect(await jobs.findOne({ _id: 1 })).toEqual({ _id: 1, at: new Date(time) });

  await using session = setup().client.startSession();
  session.startTransaction();
  await jobs.updateOne({ _id: 2 }, { $currentDate: { at: true } }, { session });
  const arrived = new Promise<void>((resolve) => {
    const matches = () => {
      setImmediate(resolve);
      return false;
    };
    setup().server.faults.add({ commands: ["update"], matches, fault: { kind: "cutBefore" } });
  });
  const waiting = jobs.updateOne({ _id: 2 }, [{ $set: { at: { $add: ["$$NOW", 1] } } }]);
  await arrived;
  time += 59_999;
  expect(setup().server.openTransactions()).toBe(1);
  time += 1;
  await waiting;
  await expect(session.commitTransaction()).rejects.toMatchObject({ code: 251 });
  // An operation has one time, however long it waits.
  expect((await jobs.findOne({ _id: 2 }))?.at).toEqual(new Date(time - 60_000 + 1));
});
