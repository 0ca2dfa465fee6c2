import type { DrizzleContext, DrizzleTransactionOf } from "@leasehold/postgres/drizzle";
import { eq } from "drizzle-orm";
import { type PgDatabase, type PgQueryResultHKT, pgTable, text } from "drizzle-orm/pg-core";
import { UnrecoverableJobError, type WorkerBuilder } from "leasehold";
import type { OrderJobs, OrderLeasehold } from "./order-jobs.ts";

export const orders = pgTable("orders", {
  id: text().primaryKey(),
  address: text().notNull(),
  state: text().notNull().default("placed"),
});

// #region database
export const schema = { orders };

// Of whatever driver: `pg` in production, PGlite in tests.
export type Database = PgDatabase<PgQueryResultHKT, typeof schema>;
export type Context = DrizzleContext<DrizzleTransactionOf<Database>>;
// #endregion

export const placeOrder = (
  db: Database,
  leasehold: OrderLeasehold<Context>,
  order: { id: string; address: string },
): Promise<void> =>
  leasehold.withNotify(() =>
    db.transaction(async (tx) => {
      await leasehold.startJobSequence({ tx, typeName: "ship-order", input: { orderId: order.id } });
      await tx.insert(orders).values(order);
    }),
  );

export const createShippingWorker = (
  leasehold: OrderLeasehold<Context>,
): WorkerBuilder<OrderJobs, Context, string> =>
  leasehold.createWorker().implementJobType({
    typeName: "ship-order",
    process: async ({ job, complete }) =>
      complete(async ({ tx }) => {
        const [order] = await tx
          .update(orders)
          .set({ state: "shipped" })
          .where(eq(orders.id, job.input.orderId))
          .returning();
        if (!order?.address) throw new UnrecoverableJobError("The order has no address.");
        return { address: order.address };
      }),
  });
