import { expect, it } from "vitest";
import type { LeaseholdApi } from "../leasehold-api.ts";
import type { WorkerBuilder } from "../worker/api.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createTestKit } from "./test-kit.ts";

interface Types {
  charge: { input: { order: string }; output: string };
}
const jobTypes = defineUnionJobTypes<Types>();

/** What a handler uses of some database client. */
interface Transaction {
  insert(row: string): Promise<void>;
}
type Shop = LeaseholdApi<Types, { readonly trx: Transaction }, string>;

const createWorker = (shop: Shop): WorkerBuilder<Types, { readonly trx: Transaction }, string> =>
  shop.createWorker().implementJobType({
    typeName: "charge",
    process: async ({ job, prepare, complete }) => {
      await prepare({ mode: "staged" }, async ({ trx }) => trx.insert(`read ${job.input.order}`));
      return complete(async ({ trx }) => {
        await trx.insert(job.input.order);
        if (job.attempt === 1) throw new Error("declined");
        return "paid";
      });
    },
  });

it("runs handlers that use a context of the user's own", async () => {
  const rows: string[] = [];
  const trx: Transaction = { insert: async (row) => void rows.push(row) };
  const kit = await createTestKit({ jobTypes, context: { trx } });
  const worker = createWorker(kit.leasehold);
  const { id } = await kit.leasehold.runInTransaction(async (ctx) => {
    await ctx.trx.insert("o-1 placed");
    const nested = kit.leasehold.runInTransaction(async () => {
      await kit.leasehold.startJobSequence({ trx, typeName: "charge", input: { order: "undone" } });
      throw new Error("undone");
    });
    await expect(nested).rejects.toThrow("undone");
    return kit.leasehold.startJobSequence({ trx: ctx.trx, typeName: "charge", input: { order: "o-1" } });
  });
  await kit.drain(worker);
  expect(await kit.leasehold.jobs.get({ id })).toMatchObject({ status: "pending", attempt: 1 });
  await kit.advance(worker, 3_600_000);
  expect(await kit.leasehold.jobs.get({ id })).toMatchObject({ status: "completed", output: "paid" });
  expect(rows).toEqual(["o-1 placed", "read o-1", "o-1", "read o-1", "o-1"]);
  expect((await kit.leasehold.jobs.list({})).jobs).toHaveLength(1);
});

it("knows its context outside a transaction for what it is", async () => {
  const trx: Transaction = { insert: async () => {} };
  const { leasehold } = await createTestKit({ jobTypes, context: { trx } });
  const input = { order: "o-1" };
  const refused = { code: "StateNotInTransaction" };
  await expect(leasehold.startJobSequence({ trx, typeName: "charge", input })).rejects.toMatchObject(refused);
  await leasehold.runInTransaction(async () => {
    const other = { ...trx };
    const start = leasehold.startJobSequence({ trx: other, typeName: "charge", input });
    await expect(start).rejects.toMatchObject(refused);
  });
});

it("refuses a context beside a store, which has its own", async () => {
  const { stateAdapter } = await createTestKit({ jobTypes });
  const both = { jobTypes, stateAdapter, context: {} } as unknown as { jobTypes: typeof jobTypes };
  await expect(createTestKit(both)).rejects.toMatchObject({ code: "InvalidOption", option: "context" });
});
