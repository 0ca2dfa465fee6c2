import type { PgStateProvider, SqlRow } from "@leasehold/postgres";
import type { Knex } from "knex";
import { UnrecoverableJobError, type WorkerBuilder } from "leasehold";
import type { Client } from "pg";
import type { OrderJobs, OrderLeasehold } from "./order-jobs.ts";

interface Order {
  readonly id: string;
  readonly address: string;
  readonly state: string;
}

export interface KnexContext {
  readonly trx: Knex.Transaction;
}

/** What knows the connections of a Knex: the pool's, or in a transaction its one. Knex leaves its type open. */
interface KnexClient {
  acquireConnection(): Promise<Client>;
  releaseConnection(connection: Client): Promise<void>;
}

export const createKnexProvider = (knex: Knex): PgStateProvider<KnexContext, { readonly trx: Knex }> => ({
  provideContext: (callback) => callback({ trx: knex }),
  // Otherwise a callback that throws `undefined` would look like one that succeeds.
  runInTransaction: (callback) =>
    knex.transaction((trx) => callback({ trx }), { doNotRejectOnRollback: false }),
  isInTransaction: async (ctx) => {
    try {
      const { trx } = ctx as { trx: Knex.Transaction };
      return Boolean(trx.isTransaction) && !trx.isCompleted();
    } catch {
      return false;
    }
  },
  executeSql: async (ctx, { sql, params, name }) => {
    // `raw` numbers parameters in its own way, so the statement goes to the connection of `pg` as it is.
    const client = (ctx?.trx ?? knex).client as KnexClient;
    const connection = await client.acquireConnection();
    try {
      const query = { text: sql, values: [...params], ...(name === undefined ? {} : { name }) };
      return (await connection.query<SqlRow>(query)).rows;
    } finally {
      await client.releaseConnection(connection);
    }
  },
});

export const placeOrder = (
  knex: Knex,
  leasehold: OrderLeasehold<KnexContext>,
  order: { id: string; address: string },
): Promise<void> =>
  leasehold.withNotify(() =>
    knex.transaction(async (trx) => {
      await leasehold.startJobSequence({ trx, typeName: "ship-order", input: { orderId: order.id } });
      await trx<Order>("orders").insert(order);
    }),
  );

export const createShippingWorker = (
  leasehold: OrderLeasehold<KnexContext>,
): WorkerBuilder<OrderJobs, KnexContext, string> =>
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
