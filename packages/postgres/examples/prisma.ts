import type { PrismaContext } from "@leasehold/postgres/prisma";
import { UnrecoverableJobError, type WorkerBuilder } from "leasehold";
import type { OrderJobs, OrderLeasehold } from "./order-jobs.ts";
import type { Prisma, PrismaClient } from "./prisma/client/client.ts";

export type Context = PrismaContext<Prisma.TransactionClient>;

export const placeOrder = (
  db: PrismaClient,
  leasehold: OrderLeasehold<Context>,
  order: { id: string; address: string },
): Promise<void> =>
  leasehold.withNotify(() =>
    db.$transaction(async (tx) => {
      await leasehold.startJobSequence({ tx, typeName: "ship-order", input: { orderId: order.id } });
      await tx.order.create({ data: order });
    }),
  );

export const createShippingWorker = (
  leasehold: OrderLeasehold<Context>,
): WorkerBuilder<OrderJobs, Context, string> =>
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
