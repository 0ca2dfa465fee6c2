import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createGate } from "../conformance/gate.ts";
import type { DefineContinuationInput, DefineContinuationOutput } from "../job-types/markers.ts";
import type { LeaseholdApi } from "../leasehold-api.ts";
import type { WorkerBuilder } from "../worker/api.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";
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

describe("drain and advance", () => {
  const orders = defineUnionJobTypes<{
    order: { input: null; output: DefineContinuationOutput<"approve"> };
    approve: { input: DefineContinuationInput<null>; output: DefineContinuationOutput<"ship"> };
    ship: { input: DefineContinuationInput<null>; output: string };
    report: { input: null; output: string };
  }>({ approve: { workerless: true }, report: { queue: "reports" } });

  const createKit = async () => {
    const kit = await createTestKit({ jobTypes: orders });
    const { leasehold } = kit;
    const ordering = leasehold.createWorker().implementJobType({
      typeName: "order",
      process: async ({ complete }) =>
        complete(async ({ continueWith }) => continueWith({ typeName: "approve" })),
    });
    const shipping = leasehold
      .createWorker()
      .implementJobType({ typeName: "ship", process: async () => "shipped" });
    const approve = (id: string) =>
      leasehold.completeJobSequence({
        id,
        typeName: "order",
        complete: async ({ job, complete }) => {
          if (job.typeName !== "approve") throw new Error(`the order is at ${job.typeName}`);
          await complete(job, async ({ continueWith }) => continueWith({ typeName: "ship" }));
        },
      });
    return { ...kit, ordering, shipping, approve };
  };

  it("end while a job waits to be completed from outside", async () => {
    const { leasehold, clock, drain, advance, ordering, shipping, approve } = await createKit();
    const { id } = await leasehold.startJobSequence({ typeName: "order" });
    const startedAt = clock.now();
    await drain([ordering, shipping]);
    expect(clock.now() - startedAt).toBeLessThan(1_000);
    await advance([ordering, shipping], 3_600_000);
    expect(await leasehold.jobs.getSequence({ id })).toMatchObject({ currentTypeName: "approve" });
    await approve(id);
    await drain(shipping);
    expect(await leasehold.jobs.getSequence({ id })).toMatchObject({
      status: "completed",
      output: "shipped",
    });
  });

  it("leave jobs of types that the given workers do not implement", async () => {
    const { leasehold, drain, advance, ordering, shipping, approve } = await createKit();
    const { id } = await leasehold.startJobSequence({ typeName: "order" });
    const report = await leasehold.startJobSequence({ typeName: "report" });
    await drain(ordering);
    await approve(id);
    await advance(ordering, 60_000);
    expect(await leasehold.jobs.getSequence({ id })).toMatchObject({
      status: "pending",
      currentTypeName: "ship",
    });
    await drain([ordering, shipping]);
    expect(await leasehold.jobs.getSequence({ id })).toMatchObject({ status: "completed" });
    expect(await leasehold.jobs.get(report)).toMatchObject({ status: "pending", attempt: 0 });
  });

  it("leave throttled jobs until they can be claimed", async () => {
    const { leasehold, drain, advance, ordering } = await createKit();
    await leasehold.limits.set({ typeName: "order", rate: { limit: 1, perMs: 60_000 } });
    await leasehold.startJobSequences({ sequences: [{ typeName: "order" }, { typeName: "order" }] });
    const waiting = async () =>
      (await leasehold.jobs.count({ typeName: "order", status: "pending" }))[0]?.count ?? 0;
    await drain(ordering);
    expect(await waiting()).toBe(1);
    await leasehold.limits.pause({ typeName: "order" });
    await advance(ordering, 60_000);
    expect(await waiting()).toBe(1);
    await leasehold.limits.resume({ typeName: "order" });
    await drain(ordering);
    expect(await waiting()).toBe(0);
  });

  it("name the jobs that are still running when they give up", async () => {
    const { leasehold, clock, drain } = await createTestKit({ jobTypes });
    const slow = leasehold.createWorker().implementJobType({
      typeName: "charge",
      process: () => new Promise<string>((resolve) => clock.setTimer(() => resolve("paid"), 7_200_000)),
    });
    const { id } = await leasehold.startJobSequence({ typeName: "charge", input: { order: "o-1" } });
    await expect(drain(slow)).rejects.toThrow(`Still running: charge ${id} (attempt 1).`);
  });
});

it("gives a retry the same delay whatever the order in which the store answers", async () => {
  const maintenance = ["reapExpiredLeases", "nextRecurringIn"];
  const retryAt = async (answeredLast: readonly string[]) => {
    const failed = createGate();
    const kit = await createTestKit({
      jobTypes,
      stateAdapter: wrapAdapter(createInProcessStateAdapter(), (method, original) => {
        if (![...maintenance, "claimJobs", "commitOutcomes"].includes(method)) return original;
        return async (call) => {
          if (method === "commitOutcomes") failed.open();
          if (answeredLast === maintenance && maintenance.includes(method)) await failed.opened;
          for (let turn = 0; turn < 10 && answeredLast.includes(method); turn += 1) await nextTurn();
          return original(call);
        };
      }),
    });
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "charge",
      process: () => {
        throw new Error("declined");
      },
    });
    const { id } = await kit.leasehold.startJobSequence({ typeName: "charge", input: { order: "o-1" } });
    await kit.drain(worker);
    return (await kit.leasehold.jobs.get({ id }))?.scheduledAt;
  };
  expect(await retryAt(maintenance)).toEqual(await retryAt(["claimJobs"]));
});
