// Orders written with Kysely commit together with the jobs they need.
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createKyselyStateProvider } from "@leasehold/sqlite/kysely";
import { Kysely, SqliteDialect } from "kysely";
import Database from "libsql";

interface Tables {
  orders: { id: string; status: string };
}

const jobTypes = defineUnionJobTypes<{ charge: { input: { orderId: string }; output: string } }>();

export const main = async (file: string, print: (line: string) => void): Promise<void> => {
  // #region provider
  // The same with `new Database(file)` of better-sqlite3.
  const [database, reader] = [new Database(file), new Database(file)];
  const db = new Kysely<Tables>({
    dialect: new SqliteDialect({ database }),
  });
  const stateAdapter = await createSqliteStateAdapter({
    stateProvider: createKyselyStateProvider({ db, database, reader, file }),
  });
  // #endregion
  await stateAdapter.provideContext(({ db }) =>
    db.schema.createTable("orders").addColumn("id", "text").addColumn("status", "text").execute(),
  );
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  // #region transaction
  const order = (orderId: string, fails: boolean) =>
    leasehold.runInTransaction(async (ctx) => {
      // Leasehold has opened the transaction: use `db` as it is, without `db.transaction()`.
      await ctx.db.insertInto("orders").values({ id: orderId, status: "new" }).execute();
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
          await db
            .updateTable("orders")
            .set({ status: "paid" })
            .where("id", "=", job.input.orderId)
            .execute();
          return "receipt-1";
        }),
    })
    .start({ pollIntervalMs: 20 });
  const { output } = await leasehold.waitForJobSequenceCompletion({ typeName: "charge", id: sequence.id });
  await worker.stop();

  const orders = await stateAdapter.provideContext(({ db }) => db.selectFrom("orders").selectAll().execute());
  for (const { id, status } of orders) print(`${id}: ${status}, ${output}`);
  await stateAdapter.close();
  for (const handle of [database, reader]) handle.close();
};
