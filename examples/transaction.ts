// Jobs commit with your own writes. On a database the context carries its client; here the jobs are all there is.
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
} from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "place-order": { input: { orderId: string }; output: { receiptId: string } };
  "send-receipt": { input: { orderId: string }; output: null };
  "import-row": { input: { row: number }; output: number };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  const countJobs = async (): Promise<number> =>
    (await leasehold.jobs.count()).reduce((sum, { count }) => sum + count, 0);

  // #region commit
  const order = await leasehold.runInTransaction(async (ctx) => {
    // ... your own writes, with the client in `ctx` ...
    return leasehold.startJobSequence({ ...ctx, typeName: "place-order", input: { orderId: "o-1" } });
  });
  // #endregion
  print(`After the commit there is ${await countJobs()} job.`);

  // #region rollback
  await leasehold
    .runInTransaction(async (ctx) => {
      await leasehold.startJobSequence({ ...ctx, typeName: "place-order", input: { orderId: "o-2" } });
      throw new Error("The card was declined.");
    })
    .catch((error: Error) => print(`Rolled back: ${error.message}`));
  // #endregion
  print(`After the rollback there is still ${await countJobs()} job.`);

  // Stands for a write to your own tables. The first one fails, to show that nothing of the attempt remains.
  let receiptTableIsLocked = true;
  const saveReceipt = async (_ctx: object, _receiptId: string): Promise<void> => {
    if (!receiptTableIsLocked) return;
    receiptTableIsLocked = false;
    throw new Error("The table is locked.");
  };

  const worker = await leasehold
    .createWorker({ retry: { type: "fixed", delayMs: 5 } })
    // #region staged
    .implementJobType({
      typeName: "place-order",
      process: async ({ job, prepare, complete }) => {
        const orderId = await prepare({ mode: "staged" }, async () => {
          // First transaction: read what the work needs.
          return job.input.orderId;
        });

        // No transaction is open here: call the payment provider, for as long as it takes. The lease is renewed.
        const receiptId = `receipt-for-${orderId}`;

        return complete(async (ctx) => {
          // Second transaction: your writes, the next job and the completion, all or nothing.
          await leasehold.startJobSequence({ ...ctx, typeName: "send-receipt", input: { orderId } });
          await saveReceipt(ctx, receiptId);
          return { receiptId };
        });
      },
    })
    // #endregion
    .implementJobType({
      typeName: "send-receipt",
      process: async ({ job }) => print(`Receipt for ${job.input.orderId} sent.`),
    })
    // #region atomic
    .implementJobType({
      typeName: "import-row",
      process: async ({ job, prepare, complete }) => {
        // One transaction from here to the end of `complete`: short work on the same database only.
        const row = await prepare({ mode: "atomic" }, async () => job.input.row);
        return complete(async () => row * 2);
      },
    })
    // #endregion
    .start();

  const { output } = await leasehold.waitForJobSequenceCompletion(order);
  const attempts = (await leasehold.jobs.get({ id: order.id }))?.attempt;
  print(`The order completed at attempt ${attempts}: ${output.receiptId}`);

  const receipts = await leasehold.jobs.list({ typeName: "send-receipt" });
  print(`Receipts started, although the first attempt failed: ${receipts.jobs.length}`);
  const [receipt] = receipts.jobs;
  await leasehold.waitForJobSequenceCompletion({ id: receipt!.id, typeName: "send-receipt" });

  const imported = await leasehold.startJobSequence({ typeName: "import-row", input: { row: 21 } });
  print(`Imported: ${(await leasehold.waitForJobSequenceCompletion(imported)).output}`);

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
