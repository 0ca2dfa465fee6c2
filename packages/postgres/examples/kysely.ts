import type { KyselyContext } from "@leasehold/postgres/kysely";
import type { Generated, Kysely, Transaction } from "kysely";
import { UnrecoverableJobError, type WorkerBuilder } from "leasehold";
import type { OrderJobs, OrderLeasehold } from "./order-jobs.ts";

export interface Database {
  orders: { id: string; address: string; state: Generated<string> };
}

export type Context = KyselyContext<Transaction<Database>>;

export const placeOrder = (
  db: Kysely<Database>,
  leasehold: OrderLeasehold<Context>,
  order: { id: string; address: string },
): Promise<void> =>
  leasehold.withNotify(() =>
    db.transaction().execute(async (trx) => {
      await leasehold.startJobSequence({ trx, typeName: "ship-order", input: { orderId: order.id } });
      await trx.insertInto("orders").values(order).execute();
    }),
  );

export const createShippingWorker = (
  leasehold: OrderLeasehold<Context>,
): WorkerBuilder<OrderJobs, Context, string> =>
  leasehold.createWorker().implementJobType({
    typeName: "ship-order",
    process: async ({ job, complete }) =>
      complete(async ({ trx }) => {
        const order = await trx
          .updateTable("orders")
          .set({ state: "shipped" })
          .where("id", "=", job.input.orderId)
          .returning("address")
          .executeTakeFirst();
        if (!order?.address) throw new UnrecoverableJobError("The order has no address.");
        return { address: order.address };
      }),
  });
