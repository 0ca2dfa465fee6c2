// Tests a handler that writes to the database: real collections on a server for tests, and a clock of the test.
import { defineUnionJobTypes, type Leasehold } from "leasehold";
import type { MongoStateAdapter, MongoTransactionContext } from "@leasehold/mongodb";
// #region kit
import { createMongoTestKit } from "@leasehold/mongodb/testing";
import { type Collection, MongoClient } from "mongodb";

// #endregion
interface Types {
  charge: { input: { orderId: string }; output: string };
}
interface Order {
  _id: string;
  status: string;
}
const jobTypes = defineUnionJobTypes<Types>();

/** As the application has it. */
const createShopWorker = (
  leasehold: Leasehold<Types, MongoStateAdapter<MongoTransactionContext>>,
  orders: Collection<Order>,
) =>
  leasehold.createWorker({ retry: { type: "fixed", delayMs: 3_600_000 } }).implementJobType({
    typeName: "charge",
    process: async ({ job, complete }) =>
      complete(async ({ session }) => {
        await orders.updateOne({ _id: job.input.orderId }, { $set: { status: "paid" } }, { session });
        if (job.attempt === 1) throw new Error("The bank is closed.");
        return "receipt-1";
      }),
  });

export const main = async (uri: string, print: (line: string) => void): Promise<void> => {
  // #region kit
  const client = new MongoClient(uri); // of a replica set for tests; one member is enough
  const kit = await createMongoTestKit({ jobTypes, client });
  const orders = client.db(kit.database).collection<Order>("orders");
  await orders.insertOne({ _id: "order-1", status: "new" });

  const worker = createShopWorker(kit.leasehold, orders); // the application's own
  await kit.leasehold.startJobSequence({ typeName: "charge", input: { orderId: "order-1" } });
  await kit.drain(worker);
  const afterFailure = await orders.findOne(); // rolled back: status "new"
  await kit.advance(worker, 3_600_000);
  const afterRetry = await orders.findOne(); // status "paid"
  await kit.close(); // drops the database
  await client.close();
  // #endregion
  print(JSON.stringify([afterFailure?.status, afterRetry?.status]));
};
