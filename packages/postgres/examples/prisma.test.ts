import { PrismaPg } from "@prisma/adapter-pg";
import { expectTypeOf, inject } from "vitest";
import { type CompleteContext, describeExample } from "../src/testing/example-suite.ts";
import { createPrismaStateProvider } from "../src/providers/prisma.ts";
import { type Context, createShippingWorker, placeOrder } from "./prisma.ts";
import { type Prisma, PrismaClient } from "./prisma/client/client.ts";

describeExample({
  name: "Prisma",
  part: 1,
  key: "tx",
  server: () => inject("postgres18Url"),
  connect: async (schema, url) => {
    const connection = { connectionString: url, options: `-c search_path=${schema}` };
    const db = new PrismaClient({ adapter: new PrismaPg(connection, { schema }) });
    return {
      provider: createPrismaStateProvider({ prisma: db }),
      transaction: (callback) => db.$transaction((tx) => callback({ tx })),
      placeOrder: (leasehold, order) => placeOrder(db, leasehold, order),
      createShippingWorker,
      close: () => db.$disconnect(),
    };
  },
});

expectTypeOf<CompleteContext<Context>["tx"]>().toEqualTypeOf<Prisma.TransactionClient>();
