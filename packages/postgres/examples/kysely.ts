import type { PgStateProvider, SqlRow } from "@leasehold/postgres";
import { CompiledQuery, type Generated, type Kysely, Transaction } from "kysely";
import { UnrecoverableJobError, type WorkerBuilder } from "leasehold";
import type { OrderJobs, OrderLeasehold } from "./order-jobs.ts";

export interface Database {
  orders: { id: string; address: string; state: Generated<string> };
}

export interface KyselyContext {
  readonly trx: Transaction<Database>;
}

export const createKyselyProvider = (
  db: Kysely<Database>,
): PgStateProvider<KyselyContext, { readonly trx: Kysely<Database> }> => ({
  provideContext: (callback) => db.connection().execute((connection) => callback({ trx: connection })),
  runInTransaction: (callback) => db.transaction().execute((trx) => callback({ trx })),
  isInTransaction: async (ctx) => {
    try {
      const trx: unknown = (ctx as { trx?: unknown }).trx;
      if (!(trx instanceof Transaction)) return false;
      // Nothing is sent: Kysely itself refuses the connection of a transaction that has ended.
      return await trx.getExecutor().provideConnection(async () => true);
    } catch {
      return false;
    }
  },
  executeSql: async (ctx, { sql, params }) => {
    const { rows } = await (ctx?.trx ?? db).executeQuery<SqlRow>(CompiledQuery.raw(sql, [...params]));
    return rows;
  },
});

export const placeOrder = (
  db: Kysely<Database>,
  leasehold: OrderLeasehold<KyselyContext>,
  order: { id: string; address: string },
): Promise<void> =>
  leasehold.withNotify(() =>
    db.transaction().execute(async (trx) => {
      await leasehold.startJobSequence({ trx, typeName: "ship-order", input: { orderId: order.id } });
      await trx.insertInto("orders").values(order).execute();
    }),
  );

export const createShippingWorker = (
  leasehold: OrderLeasehold<KyselyContext>,
): WorkerBuilder<OrderJobs, KyselyContext, string> =>
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
