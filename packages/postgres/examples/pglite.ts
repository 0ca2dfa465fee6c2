import type { PGlite, Transaction } from "@electric-sql/pglite";
import type { PGliteContext } from "@leasehold/postgres/pglite";
import { UnrecoverableJobError, type WorkerBuilder } from "leasehold";
import type { OrderJobs, OrderLeasehold } from "./order-jobs.ts";

interface Order {
  readonly id: string;
  readonly address: string;
  readonly state: string;
}

export type Context = PGliteContext<Transaction>;

export const placeOrder = (
  db: PGlite,
  leasehold: OrderLeasehold<Context>,
  { id, address }: { id: string; address: string },
): Promise<void> =>
  leasehold.withNotify(() =>
    db.transaction(async (tx) => {
      await leasehold.startJobSequence({ tx, typeName: "ship-order", input: { orderId: id } });
      await tx.query("INSERT INTO orders (id, address) VALUES ($1, $2)", [id, address]);
    }),
  );

export const createShippingWorker = (
  leasehold: OrderLeasehold<Context>,
): WorkerBuilder<OrderJobs, Context, string> =>
  leasehold.createWorker().implementJobType({
    typeName: "ship-order",
    process: async ({ job, complete }) =>
      complete(async ({ tx }) => {
        const { rows } = await tx.query<Order>(
          "UPDATE orders SET state = 'shipped' WHERE id = $1 RETURNING *",
          [job.input.orderId],
        );
        if (!rows[0]?.address) throw new UnrecoverableJobError("The order has no address.");
        return { address: rows[0].address };
      }),
  });
