import { defineUnionJobTypes, InvalidOptionError } from "leasehold";
import { MongoClient } from "mongodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createMongoTestKit } from "./testing.ts";
import { useServerUri } from "./testing/use-server-uri.ts";

const jobTypes = defineUnionJobTypes<{
  pay: { input: { order: string }; output: string };
  approve: { input: null; output: string };
  report: { input: null; output: string };
}>({ approve: { workerless: true } });

/** Jobs that the worker of a test does not implement: `drain` and `advance` end all the same. */
const notForTheWorker = { sequences: [{ typeName: "approve" }, { typeName: "report" }] } as const;

const serverUri = useServerUri();

let client: MongoClient;

beforeAll(() => {
  client = new MongoClient(serverUri());
});

afterAll(() => client.close());

const databaseNames = async (): Promise<readonly string[]> =>
  (await client.db().admin().listDatabases({ nameOnly: true })).databases.map(({ name }) => name);

it("runs handlers that write to collections of their own, in the kit's time", async () => {
  const kit = await createMongoTestKit({ jobTypes, client });
  const { leasehold, clock, database } = kit;
  const payments = client.db(database).collection<{ _id: string; attempt: number }>("payments");
  await client.db(database).createCollection("payments");
  const worker = leasehold.createWorker({ retry: { type: "fixed", delayMs: 3_600_000 } }).implementJobType({
    typeName: "pay",
    process: async ({ job, complete }) =>
      complete(async ({ session }) => {
        await payments.insertOne({ _id: job.input.order, attempt: job.attempt }, { session });
        if (job.attempt === 1) throw new Error("the bank is closed");
        return "paid";
      }),
  });
  const { id } = await leasehold.startJobSequence({ typeName: "pay", input: { order: "o-1" } });
  const before = clock.now();
  await leasehold.startJobSequences(notForTheWorker);
  await kit.drain(worker);
  expect(await leasehold.jobs.get({ id })).toMatchObject({ status: "pending", attempt: 1 });
  await kit.advance(worker, 3_600_000);
  const job = await leasehold.jobs.get({ id });
  expect(job).toMatchObject({ status: "completed", attempt: 2 });
  expect(Number(job?.createdAt)).toBe(before);
  expect(await payments.find().toArray()).toEqual([{ _id: "o-1", attempt: 2 }]);
  await kit.close();
  expect(await databaseNames()).not.toContain(database);
});

it("refuses a database with something in it, and leaves it alone", async () => {
  const database = `leasehold_${process.pid}_mine`;
  const mine = client.db(database).collection("mine");
  await mine.insertOne({ precious: true });
  await expect(createMongoTestKit({ jobTypes, client, database })).rejects.toThrow(InvalidOptionError);
  expect(await mine.countDocuments()).toBe(1);
  expect(await client.db(database).listCollections().toArray()).toHaveLength(1);
  await client.db(database).dropDatabase();
});
