// A worker process of the tests: runs jobs until it is asked to stop. Each job counts itself in a collection, in the same
// transaction as its completion.
//
//   fork("work.mjs", [JSON.stringify({ uri, database, leaseMs })])
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createMongoStateProvider, createMongoStateAdapter } from "@leasehold/mongodb";
import { MongoClient } from "mongodb";

const { uri, database, leaseMs } = JSON.parse(process.argv[2]);
// Ends with its parent.
process.on("disconnect", () => process.exit());

const client = new MongoClient(uri);
const stateAdapter = await createMongoStateAdapter({
  stateProvider: createMongoStateProvider({ client, database }),
});
const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
const results = client.db(database).collection("results");
const count = (job, session) =>
  results.updateOne({ _id: job.id }, { $inc: { times: 1 } }, { session, upsert: true });

const worker = await leasehold
  .createWorker()
  .implementJobType({
    typeName: "count",
    process: async ({ job, prepare, complete }) => {
      if (job.input.mode === "atomic")
        await prepare({ mode: "atomic" }, ({ session }) => count(job, session));
      process.send({ executed: job.id });
      return complete(async ({ session, continueWith }) => {
        if (job.input.mode !== "atomic") await count(job, session);
        return job.input.next > 0
          ? continueWith({
              typeName: "count",
              input: { ...job.input, next: job.input.next - 1 },
              maxAttempts: 100,
            })
          : "done";
      });
    },
  })
  // The one that writes no completion itself.
  .implementJobType({ typeName: "gather", process: async () => "gathered" })
  .start({ concurrency: 10, pollIntervalMs: 20, leaseMs, reapIntervalMs: 100 });

const stop = async () => {
  await worker.stop();
  await stateAdapter.close();
  await client.close();
  process.disconnect();
};
process.on("message", () => void stop());
process.send({ ready: true });
