import type { KnexContext } from "@leasehold/postgres/knex";
import type { Knex } from "knex";
import { UnrecoverableJobError, type WorkerBuilder } from "leasehold";
import type { OrderJobs, OrderLeasehold } from "./order-jobs.ts";

interface Order {
  readonly id: string;
  readonly address: string;
  readonly state: string;
}

export type Context = KnexContext<Knex.Transaction>;

export const placeOrder = (
  knex: Knex,
  leasehold: OrderLeasehold<Context>,
  order: { id: string; address: string },
): Promise<void> =>
  leasehold.withNotify(() =>
    knex.transaction(async (trx) => {
      await leasehold.startJobSequence({ trx, typeName: "ship-order", input: { orderId: order.id } });
      await trx<Order>("orders").insert(order);
    }),
  );

export const createShippingWorker = (
  leasehold: OrderLeasehold<Context>,
): WorkerBuilder<OrderJobs, Context, string> =>
  leasehold.createWorker().implementJobType({
    typeName: "ship-order",
    process: async ({ job, complete }) =>
      complete(async ({ trx }) => {
        const [order] = await trx<Order>("orders")
          .where({ id: job.input.orderId })
          .update({ state: "shipped" })
          .returning("address");
        if (!order?.address) throw new UnrecoverableJobError("The order has no address.");
        return { address: order.address };
      }),
  });
