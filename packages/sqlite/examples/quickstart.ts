// Jobs in an SQLite file, with a table of your own beside them.
// #region readme
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createSqliteStateAdapter } from "@leasehold/sqlite";

const jobTypes = defineUnionJobTypes<{
  charge: { input: { orderId: string }; output: { receipt: string } };
}>();

// #endregion
export const main = async (file: string, print: (line: string) => void): Promise<void> => {
  // #region readme
  const stateAdapter = await createSqliteStateAdapter({ file }); // such as "jobs.db"
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  // #endregion
  // #region context
  await stateAdapter.provideContext(async ({ client }) => {
    client.exec("CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, status TEXT NOT NULL)");
  });
  // #endregion

  // #region readme
  // The order and its job are committed together, or neither is.
  const started = await leasehold.runInTransaction(async (ctx) => {
    ctx.client.prepare("INSERT INTO orders VALUES (?, ?)").run("order-1", "new");
    return leasehold.startJobSequence({ ...ctx, typeName: "charge", input: { orderId: "order-1" } });
  });

  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "charge",
      process: async ({ job, complete }) => {
        const receipt = `receipt for ${job.input.orderId}`; // call the payment provider here
        return complete(async ({ client }) => {
          // Commits with the completion of the job.
          client.prepare("UPDATE orders SET status = 'paid' WHERE id = ?").run(job.input.orderId);
          return { receipt };
        });
      },
    })
    .start();

  const { output } = await leasehold.waitForJobSequenceCompletion(started);
  // #endregion
  print(output.receipt);
  const order = await stateAdapter.provideContext(async ({ client }) =>
    client.prepare("SELECT status FROM orders WHERE id = ?").get("order-1"),
  );
  print((order as { status: string }).status);
  await worker.stop();
  await stateAdapter.close();
};
