// Tests a handler that writes to the database: real tables in memory, and a clock of the test.
import { defineUnionJobTypes, type Leasehold } from "leasehold";
import type { SqliteStateAdapter } from "@leasehold/sqlite";
// #region kit
import { createSqliteTestKit } from "@leasehold/sqlite/testing";

// #endregion
interface Types {
  charge: { input: { orderId: string }; output: string };
}
const jobTypes = defineUnionJobTypes<Types>();

/** As the application has it. */
const createShopWorker = (leasehold: Leasehold<Types, SqliteStateAdapter>) =>
  leasehold.createWorker({ retry: { type: "fixed", delayMs: 3_600_000 } }).implementJobType({
    typeName: "charge",
    process: async ({ job, complete }) =>
      complete(async ({ client }) => {
        client.prepare("UPDATE orders SET status = 'paid' WHERE id = ?").run(job.input.orderId);
        if (job.attempt === 1) throw new Error("The bank is closed.");
        return "receipt-1";
      }),
  });

export const main = async (print: (line: string) => void): Promise<void> => {
  // #region kit
  const kit = await createSqliteTestKit({ jobTypes });
  await kit.stateAdapter.provideContext(async ({ client }) => {
    client.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT)");
    client.exec("INSERT INTO orders VALUES ('order-1', 'new')");
  });
  const status = () =>
    kit.stateAdapter.provideContext(async ({ client }) => client.prepare("SELECT status FROM orders").all());

  const worker = createShopWorker(kit.leasehold); // the application's own
  await kit.leasehold.startJobSequence({ typeName: "charge", input: { orderId: "order-1" } });
  await kit.drain(worker);
  const afterFailure = await status(); // rolled back: [{ status: "new" }]
  await kit.advance(worker, 3_600_000);
  const afterRetry = await status(); // [{ status: "paid" }]
  await kit.close();
  // #endregion
  print(JSON.stringify([afterFailure, afterRetry]));
};
