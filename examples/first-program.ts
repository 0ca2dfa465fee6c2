// A row and its job in one commit, on an SQLite file: the program of the README.
import { pathToFileURL } from "node:url";
// #region readme
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createLeasehold, defineUnionJobTypes } from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "send-receipt": { input: { orderId: string }; output: { sentTo: string } };
}>();
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  // #region readme
  const stateAdapter = await createSqliteStateAdapter({ file: "jobs.db" });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  // The order and its job are committed together. If anything throws in here, there is neither.
  const started = await leasehold.runInTransaction(async (ctx) => {
    ctx.client.exec("CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, receipt TEXT)");
    ctx.client.prepare("INSERT OR REPLACE INTO orders VALUES (?, NULL)").run("order-1");
    return leasehold.startJobSequence({ ...ctx, typeName: "send-receipt", input: { orderId: "order-1" } });
  });

  await leasehold
    .createWorker()
    .implementJobType({
      typeName: "send-receipt",
      process: async ({ job, complete }) => {
        const sentTo = "ada@example.com"; // Send the mail here, with `job.id` as the idempotency key.
        return complete(async ({ client }) => {
          // Committed together with the completion of the job.
          client.prepare("UPDATE orders SET receipt = 'sent' WHERE id = ?").run(job.input.orderId);
          return { sentTo };
        });
      },
    })
    .start();

  const { output } = await leasehold.waitForJobSequenceCompletion(started); // { sentTo: "ada@example.com" }
  // #endregion
  print(`Receipt sent to ${output.sentTo}`);
  const order = await stateAdapter.provideContext(async ({ client }) =>
    client.prepare("SELECT receipt FROM orders WHERE id = ?").get("order-1"),
  );
  print(`The order says: ${(order as { receipt: string }).receipt}`);
  // #region readme
  await leasehold.close(); // stops the worker
  await stateAdapter.close();
  // #endregion
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
