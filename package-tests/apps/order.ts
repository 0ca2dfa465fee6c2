// What a user would write. It has no `await` at the top, so that it can be an ES module and a CommonJS module.
import { createPgPoolStateProvider, createPgStateAdapter } from "@leasehold/postgres";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createLeasehold, defineUnionJobTypes } from "leasehold";

const jobTypes = defineUnionJobTypes<{
  charge: { input: { orderId: string }; output: { receipt: string } };
}>();

const main = async (driver: "libsql" | "node:sqlite" | "better-sqlite3"): Promise<void> => {
  const stateAdapter = await createSqliteStateAdapter({ file: ":memory:", driver });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  const started = await leasehold.runInTransaction(async (ctx) => {
    ctx.client.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL)");
    ctx.client.prepare("INSERT INTO orders VALUES (?, ?)").run("order-1", "new");
    return leasehold.startJobSequence({ ...ctx, typeName: "charge", input: { orderId: "order-1" } });
  });
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "charge",
      process: async ({ job, complete }) =>
        complete(async ({ client }) => {
          client.prepare("UPDATE orders SET status = 'paid' WHERE id = ?").run(job.input.orderId);
          return { receipt: `receipt for ${job.input.orderId}` };
        }),
    })
    .start();
  const { output } = await leasehold.waitForJobSequenceCompletion(started);
  const receipt: string = output.receipt;
  console.log(receipt);
  await worker.stop();
  await stateAdapter.close();
};

// Without a server there is nothing to connect to; that the functions are there is what counts.
if (typeof createPgStateAdapter !== "function" || typeof createPgPoolStateProvider !== "function")
  process.exit(2);

main((process.argv[2] ?? "libsql") as "libsql").catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
