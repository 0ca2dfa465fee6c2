import type { PgStateProvider, SqlRow } from "@leasehold/postgres";
import { UnrecoverableJobError, type WorkerBuilder } from "leasehold";
import type { OrderJobs, OrderLeasehold } from "./order-jobs.ts";
import type { Prisma, PrismaClient } from "./prisma/client/client.ts";

export interface PrismaContext {
  readonly tx: Prisma.TransactionClient;
}

// Prisma's own limits, 2 and 5 seconds, are tight for a busy pool.
const patience = { maxWait: 10_000, timeout: 30_000 };

export const createPrismaProvider = (
  db: PrismaClient,
): PgStateProvider<PrismaContext, { readonly tx: PrismaClient }> => {
  const open = new WeakSet<object>();

  return {
    provideContext: (callback) => callback({ tx: db }),
    runInTransaction: (callback) =>
      db.$transaction(async (tx) => {
        open.add(tx);
        try {
          return await callback({ tx });
        } finally {
          open.delete(tx);
        }
      }, patience),
    isInTransaction: async (ctx) => {
      try {
        const { tx } = ctx as PrismaContext;
        if (open.has(tx)) return true;
        // Only the client itself can be disconnected.
        if (typeof tx.$queryRawUnsafe !== "function" || "$disconnect" in tx) return false;
        // A transaction of your own. Prisma tells that it has ended only to those who use it.
        await tx.$queryRawUnsafe("SELECT 1");
        return true;
      } catch {
        return false;
      }
    },
    executeSql: (ctx, { sql, params }) => (ctx?.tx ?? db).$queryRawUnsafe<SqlRow[]>(sql, ...params),
  };
};

export const placeOrder = (
  db: PrismaClient,
  leasehold: OrderLeasehold<PrismaContext>,
  order: { id: string; address: string },
): Promise<void> =>
  leasehold.withNotify(() =>
    db.$transaction(async (tx) => {
      await leasehold.startJobSequence({ tx, typeName: "ship-order", input: { orderId: order.id } });
      await tx.order.create({ data: order });
    }),
  );

export const createShippingWorker = (
  leasehold: OrderLeasehold<PrismaContext>,
): WorkerBuilder<OrderJobs, PrismaContext, string> =>
  leasehold.createWorker().implementJobType({
    typeName: "ship-order",
    process: async ({ job, complete }) =>
      complete(async ({ tx }) => {
        const { address } = await tx.order.update({
          where: { id: job.input.orderId },
          data: { state: "shipped" },
        });
        if (!address) throw new UnrecoverableJobError("The order has no address.");
        return { address };
      }),
  });
