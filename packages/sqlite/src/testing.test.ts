import { Kysely, SqliteDialect } from "kysely";
import { defineUnionJobTypes } from "leasehold";
import Database from "libsql";
import { expect, it } from "vitest";
import { createKyselyStateProvider } from "./providers/kysely.ts";
import { createSqliteTestKit } from "./testing.ts";

const jobTypes = defineUnionJobTypes<{
  pay: { input: { order: string }; output: string };
  approve: { input: null; output: string };
  report: { input: null; output: string };
}>({ approve: { workerless: true } });

/** Jobs that the worker of a test does not implement: `drain` and `advance` end all the same. */
const notForTheWorker = { sequences: [{ typeName: "approve" }, { typeName: "report" }] } as const;

it("runs handlers that write to tables of their own, in the kit's time", async () => {
  const kit = await createSqliteTestKit({ jobTypes });
  const { leasehold, stateAdapter, clock } = kit;
  await stateAdapter.provideContext(async ({ client }) => {
    client.exec("CREATE TABLE payments (id TEXT PRIMARY KEY, attempt INTEGER)");
  });
  const worker = leasehold.createWorker({ retry: { type: "fixed", delayMs: 3_600_000 } }).implementJobType({
    typeName: "pay",
    process: async ({ job, complete }) =>
      complete(async ({ client }) => {
        client.prepare("INSERT INTO payments VALUES (?, ?)").run(job.input.order, job.attempt);
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
  const job = await leasehold.jobs.get({ id, typeName: "pay" });
  expect(job).toMatchObject({ status: "completed", output: "paid", attempt: 2 });
  expect(Number(job?.createdAt)).toBe(before);
  const rows = await stateAdapter.provideContext(async ({ client }) =>
    client.prepare("SELECT * FROM payments").all(),
  );
  expect(rows).toEqual([{ id: "o-1", attempt: 2 }]);
  await kit.close();
});

it("takes a provider, so that handlers get their query builder", async () => {
  const database = new Database(":memory:");
  const db = new Kysely<{ payments: { id: string } }>({ dialect: new SqliteDialect({ database }) });
  const kit = await createSqliteTestKit({
    jobTypes,
    stateProvider: createKyselyStateProvider({ db, database }),
  });
  await db.schema.createTable("payments").addColumn("id", "text").execute();
  const worker = kit.leasehold.createWorker().implementJobType({
    typeName: "pay",
    process: async ({ job, complete }) =>
      complete(async (ctx) => {
        await ctx.db.insertInto("payments").values({ id: job.input.order }).execute();
        return "paid";
      }),
  });
  await kit.leasehold.startJobSequence({ typeName: "pay", input: { order: "o-1" } });
  await kit.drain(worker);
  expect(await db.selectFrom("payments").selectAll().execute()).toEqual([{ id: "o-1" }]);
  await kit.close();
  database.close();
});
