// An order and its job are committed together, and so are the payment and the completion of the job.
// #region readme
import {
  createMongoNotifyAdapter,
  createMongoStateProvider,
  createMongoStateAdapter,
} from "@leasehold/mongodb";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { MongoClient } from "mongodb";

// #endregion

export const main = async (uri: string, print: (line: string) => void): Promise<void> => {
  // #region readme
  const jobTypes = defineUnionJobTypes<{
    charge: { input: { orderId: string }; output: { receipt: string } };
  }>();

  const client = new MongoClient(uri); // such as "mongodb://localhost/shop?replicaSet=rs0"
  const stateAdapter = await createMongoStateAdapter({ stateProvider: createMongoStateProvider({ client }) });
  const notifyAdapter = await createMongoNotifyAdapter({ client });
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });
  const orders = client.db().collection<{ _id: string; status: string }>("orders");

  // The order and its job are committed together, or neither is.
  const started = await leasehold.runInTransaction(async ({ session }) => {
    await orders.insertOne({ _id: "order-1", status: "new" }, { session });
    return leasehold.startJobSequence({ session, typeName: "charge", input: { orderId: "order-1" } });
  });

  await leasehold
    .createWorker()
    .implementJobType({
      typeName: "charge",
      process: async ({ job, complete }) => {
        const receipt = `receipt for ${job.input.orderId}`; // call the payment provider here
        return complete(async ({ session }) => {
          // Commits with the completion of the job.
          await orders.updateOne({ _id: job.input.orderId }, { $set: { status: "paid" } }, { session });
          return { receipt };
        });
      },
    })
    .start();

  const { output } = await leasehold.waitForJobSequenceCompletion(started);
  // #endregion
  print(output.receipt);
  print((await orders.findOne({ _id: "order-1" }))?.status ?? "");
  // #region close

  await leasehold.close(); // stops the worker
  await notifyAdapter.close();
  await stateAdapter.close();
  await client.close(); // yours: Leasehold never closes it
  // #endregion
};
