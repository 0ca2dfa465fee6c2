// What your web server would do: writes of its own and a job, in one transaction.
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import {
  createPgNotifyAdapter,
  createPgPoolNotifyProvider,
  createPgPoolStateProvider,
  createPgStateAdapter,
} from "@leasehold/postgres";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const stateAdapter = await createPgStateAdapter({
  stateProvider: createPgPoolStateProvider({ pool }),
  migrate: false,
});
const notifyAdapter = await createPgNotifyAdapter({ notifyProvider: createPgPoolNotifyProvider({ pool }) });
const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes: defineUnionJobTypes() });

const started = await leasehold.runInTransaction(async (ctx) => {
  await ctx.client.query("CREATE TABLE IF NOT EXISTS visitor (name text)");
  await ctx.client.query("INSERT INTO visitor VALUES ($1)", ["Ada"]);
  return leasehold.startJobSequence({ ...ctx, typeName: "greet", input: { name: "Ada" } });
});
console.log(`Started ${started.id}; waiting for a worker.`);
const { output } = await leasehold.waitForJobSequenceCompletion(started);
console.log(output);

await leasehold.close();
await notifyAdapter.close();
await stateAdapter.close();
await pool.end();
