import type { PgStateProvider, SqlRow } from "@leasehold/postgres";
import { eq } from "drizzle-orm";
import { DrizzleQueryError } from "drizzle-orm/errors";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import { PgTransaction, pgTable, text } from "drizzle-orm/pg-core";
import { UnrecoverableJobError, type WorkerBuilder } from "leasehold";
import type { OrderJobs, OrderLeasehold } from "./order-jobs.ts";

export const orders = pgTable("orders", {
  id: text().primaryKey(),
  address: text().notNull(),
  state: text().notNull().default("placed"),
});

const schema = { orders };

export type Database = NodePgDatabase<typeof schema>;
export type Transaction = Parameters<Parameters<Database["transaction"]>[0]>[0];

export interface DrizzleContext {
  readonly tx: Transaction;
}

export const createDrizzleProvider = (
  db: Database,
): PgStateProvider<DrizzleContext, { readonly tx: Database }> => {
  const ended = new WeakSet<object>();

  return {
    provideContext: (callback) => callback({ tx: db }),
    runInTransaction: (callback) =>
      db.transaction(async (tx) => {
        try {
          return await callback({ tx });
        } finally {
          ended.add(tx);
        }
      }),
    isInTransaction: async (ctx) => {
      try {
        const tx: unknown = (ctx as { tx?: unknown }).tx;
        if (!(tx instanceof PgTransaction) || ended.has(tx)) return false;
        // Drizzle does not mark transactions of your own when they end. The client knows, from pg 8.17 on.
        const { client } = tx._.session as { client?: { getTransactionStatus?(): string | null } };
        return client?.getTransactionStatus?.() !== "I";
      } catch {
        return false;
      }
    },
    executeSql: async (ctx, { sql, params, name }) => {
      // `execute` has no way to pass on a text with its parameters; the session underneath has.
      const { session } = (ctx?.tx ?? db)._;
      const query = session.prepareQuery({ sql, params: [...params] }, undefined, name, false);
      try {
        const { rows } = (await query.execute()) as { rows: SqlRow[] };
        return rows;
      } catch (error) {
        // Drizzle's own error has every parameter in its message, inputs of jobs included.
        throw error instanceof DrizzleQueryError ? (error.cause ?? error) : error;
      }
    },
  };
};

export const placeOrder = (
  db: Database,
  leasehold: OrderLeasehold<DrizzleContext>,
  order: { id: string; address: string },
): Promise<void> =>
  leasehold.withNotify(() =>
    db.transaction(async (tx) => {
      await leasehold.startJobSequence({ tx, typeName: "ship-order", input: { orderId: order.id } });
      await tx.insert(orders).values(order);
    }),
  );

export const createShippingWorker = (
  leasehold: OrderLeasehold<DrizzleContext>,
): WorkerBuilder<OrderJobs, DrizzleContext, string> =>
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
