// Orders written with Drizzle commit together with the jobs they need.
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createDrizzleProxy, createDrizzleStateProvider } from "@leasehold/sqlite/drizzle";
import { eq, sql } from "drizzle-orm";
import { sqliteTable, text } from "drizzle-orm/sqlite-core";
import { drizzle } from "drizzle-orm/sqlite-proxy";
import Database from "libsql";

const orders = sqliteTable("orders", { id: text("id").primaryKey(), status: text("status").notNull() });

const jobTypes = defineUnionJobTypes<{ charge: { input: { orderId: string }; output: string } }>();

export const main = async (file: string, print: (line: string) => void): Promise<void> => {
  // #region provider
  const [database, reader] = [new Database(file), new Database(file)];
  // With better-sqlite3: drizzle(database), of drizzle-orm/better-sqlite3.
  const db = drizzle(createDrizzleProxy(database));
  const stateAdapter = await createSqliteStateAdapter({
    stateProvider: createDrizzleStateProvider({ db, database, reader, file }),
  });
  // #endregion
  await stateAdapter.provideContext(({ db }) =>
    db.run(sql`CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL)`),
  );
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  // #region transaction
  const order = (orderId: string, fails: boolean) =>
    leasehold.runInTransaction(async (ctx) => {
      // Leasehold has opened the transaction: use `db` as it is, without `db.transaction()`.
      await ctx.db.insert(orders).values({ id: orderId, status: "new" });
      const sequence = await leasehold.startJobSequence({ ...ctx, typeName: "charge", input: { orderId } });
      if (fails) throw new Error("out of stock");
      return sequence;
    });
  // #endregion

  const sequence = await order("order-1", false);
  await order("order-2", true).catch((error: Error) => print(`order-2: ${error.message}`));

  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "charge",
      process: async ({ job, complete }) =>
        complete(async ({ db }) => {
          await db.update(orders).set({ status: "paid" }).where(eq(orders.id, job.input.orderId));
          return "receipt-1";
        }),
    })
    .start({ pollIntervalMs: 20 });
  const { output } = await leasehold.waitForJobSequenceCompletion({ typeName: "charge", id: sequence.id });
  await worker.stop();

  for (const { id, status } of await stateAdapter.provideContext(({ db }) => db.select().from(orders))) {
    print(`${id}: ${status}, ${output}`);
  }
  await stateAdapter.close();
  for (const handle of [database, reader]) handle.close();
};
