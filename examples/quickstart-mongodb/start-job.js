// What your web server would do: writes of its own and a job, in one transaction.
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import {
  createMongoNotifyAdapter,
  createMongoStateProvider,
  createMongoStateAdapter,
} from "@leasehold/mongodb";
import { MongoClient } from "mongodb";

const client = new MongoClient(process.env.DATABASE_URL);
const stateAdapter = await createMongoStateAdapter({
  stateProvider: createMongoStateProvider({ client }),
  migrate: false,
});
const notifyAdapter = await createMongoNotifyAdapter({ client });
const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes: defineUnionJobTypes() });

const started = await leasehold.runInTransaction(async ({ session }) => {
  await client.db().collection("visitors").insertOne({ name: "Ada" }, { session });
  return leasehold.startJobSequence({ session, typeName: "greet", input: { name: "Ada" } });
});
console.log(`Started ${started.id}; waiting for a worker.`);
const { output } = await leasehold.waitForJobSequenceCompletion(started);
console.log(output);

await leasehold.close();
await notifyAdapter.close();
await stateAdapter.close();
await client.close();
