// Tests the worker of the Drizzle example without a server: the same code, over PGlite.
import { PGlite } from "@electric-sql/pglite";
import { createDrizzleStateProvider } from "@leasehold/postgres/drizzle";
import { createPgTestKit } from "@leasehold/postgres/testing";
import { drizzle } from "drizzle-orm/pglite";
import { createShippingWorker, type Database, orders, placeOrder, schema } from "./drizzle.ts";
import { orderJobs } from "./order-jobs.ts";

export const main = async (print: (line: string) => void): Promise<void> => {
  // #region kit
  const pglite = await PGlite.create();
  const db: Database = drizzle(pglite, { schema });
  await pglite.exec(
    "CREATE TABLE orders (id text PRIMARY KEY, address text NOT NULL, state text DEFAULT 'placed')",
  );

  const kit = await createPgTestKit({
    jobTypes: orderJobs,
    stateProvider: createDrizzleStateProvider({ db }),
  });
  await placeOrder(db, kit.leasehold, { id: "order-1", address: "1 Main Street" }); // the application's own
  await kit.drain(createShippingWorker(kit.leasehold));
  const shipped = await db.select().from(orders); // [{ …, state: "shipped" }]
  await kit.close();
  await pglite.close();
  // #endregion
  print(JSON.stringify(shipped));
};
