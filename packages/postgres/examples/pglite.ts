import type { PGlite, Transaction } from "@electric-sql/pglite";
import type { PgStateProvider, SqlRow } from "@leasehold/postgres";
import { UnrecoverableJobError, type WorkerBuilder } from "leasehold";
import type { OrderJobs, OrderLeasehold } from "./order-jobs.ts";

interface Order {
  readonly id: string;
  readonly address: string;
  readonly state: string;
}

export interface PGliteContext {
  readonly tx: Transaction;
}

export const createPGliteProvider = (
  db: PGlite,
): PgStateProvider<PGliteContext, { readonly tx: PGlite }> => ({
  provideContext: (callback) => callback({ tx: db }),
  runInTransaction: (callback) => db.transaction((tx) => callback({ tx })),
  isInTransaction: async (ctx) => {
    try {
      const { tx } = ctx as PGliteContext;
      // Only transactions can be rolled back; the database itself can be closed, too.
      return "rollback" in tx && "closed" in tx && !tx.closed;
    } catch {
      return false;
    }
  },
  executeSql: async (ctx, { sql, params }) => {
    const { rows } = await (ctx?.tx ?? db).query<SqlRow>(sql, [...params]);
    return rows;
  },
});

export const placeOrder = (
  db: PGlite,
  leasehold: OrderLeasehold<PGliteContext>,
  { id, address }: { id: string; address: string },
): Promise<void> =>
  leasehold.withNotify(() =>
    db.transaction(async (tx) => {
      await leasehold.startJobSequence({ tx, typeName: "ship-order", input: { orderId: id } });
      await tx.query("INSERT INTO orders (id, address) VALUES ($1, $2)", [id, address]);
    }),
  );

export const createShippingWorker = (
  leasehold: OrderLeasehold<PGliteContext>,
): WorkerBuilder<OrderJobs, PGliteContext, string> =>
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
