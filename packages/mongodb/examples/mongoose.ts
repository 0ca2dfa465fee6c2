// The same through Mongoose: its models and Leasehold share one client, and one session.
import { createMongoStateProvider, createMongoStateAdapter } from "@leasehold/mongodb";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import mongoose, { Schema } from "mongoose";

const jobTypes = defineUnionJobTypes<{
  charge: { input: { orderId: string }; output: { receipt: string } };
}>();

export const main = async (uri: string, print: (line: string) => void): Promise<void> => {
  // #region mongoose
  const connection = await mongoose.createConnection(uri).asPromise();
  const Order = connection.model("Order", new Schema({ _id: String, status: String, receipt: String }));
  await Order.createCollection();

  const stateAdapter = await createMongoStateAdapter({
    stateProvider: createMongoStateProvider({ client: connection.getClient(), database: connection.name }),
  });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  const placeOrder = (orderId: string, inStock: boolean) =>
    leasehold.runInTransaction(async ({ session }) => {
      await Order.create([{ _id: orderId, status: "new" }], { session });
      const started = await leasehold.startJobSequence({ session, typeName: "charge", input: { orderId } });
      if (!inStock) throw new Error("out of stock"); // neither the order nor its job will exist
      return started;
    });

  const worker = leasehold.createWorker().implementJobType({
    typeName: "charge",
    process: async ({ job, complete }) =>
      complete(async ({ session }) => {
        const order = await Order.findById(job.input.orderId).session(session).orFail();
        order.set({ status: "paid", receipt: "receipt-1" });
        await order.save(); // in the session that it was found with
        return { receipt: "receipt-1" };
      }),
  });
  // #endregion

  await placeOrder("order-2", false).catch((error: Error) => print(`order-2: ${error.message}`));
  const started = await placeOrder("order-1", true);
  await worker.start();
  await leasehold.waitForJobSequenceCompletion(started);
  for (const order of await Order.find()) print(`${order._id}: ${order.status}, ${order.receipt}`);
  await leasehold.close();
  await stateAdapter.close();
  await connection.close();
};
