import { type Fault, startMongoTestServer } from "@leasehold/mongodb-test-server";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { MongoClient } from "mongodb";
import { expect, test } from "vitest";
import { createMongoStateProvider } from "./database/provider.ts";
import { createMongoStateAdapter } from "./state-adapter.ts";

const jobTypes = defineUnionJobTypes<{ count: { input: { n: number }; output: number } }>();

const faults: readonly Fault[] = [
  { kind: "cutBefore" },
  { kind: "cutAfter" },
  { kind: "stepDownAfter", ms: 30 },
  { kind: "error", code: 91 },
  { kind: "stepDownBefore", ms: 30 },
];

const commands = ["find", "update", "findAndModify", "insert", "commitTransaction"];

const jobs = 70;

/** Each command goes wrong in each way, a few commands apart: while jobs are started, claimed, run and completed. */
const rules = commands.flatMap((command) =>
  faults.map((fault, index) => ({ commands: [command], skip: 2 + 4 * index, fault })),
);

test(
  "with lost replies, cut connections and step-downs in the middle, each job completes once",
  { timeout: 60_000 },
  async () => {
    // A transaction whose client has given up holds its jobs no longer than this.
    const server = await startMongoTestServer({ transactionLifetimeMs: 2_000 });
    const client = new MongoClient(server.uri);
    try {
      const stateAdapter = await createMongoStateAdapter({
        stateProvider: createMongoStateProvider({ client }),
      });
      const leasehold = await createLeasehold({ stateAdapter, jobTypes });
      const results = client.db().collection<{ _id: number; times: number }>("results");
      await results.insertMany(Array.from({ length: jobs }, (_, _id) => ({ _id, times: 0 })));
      const start = () =>
        leasehold
          .createWorker()
          .implementJobType({
            typeName: "count",
            process: async ({ job, complete }) =>
              complete(async ({ session }) => {
                // Committed with the job's completion, or not at all.
                await results.updateOne({ _id: job.input.n }, { $inc: { times: 1 } }, { session });
                return job.input.n;
              }),
          })
          .start({ leaseMs: 5_000 });
      for (const rule of rules) server.faults.add(rule);
      const started = [];
      for (let n = 0; n < 30; n++) {
        started.push(await leasehold.startJobSequence({ typeName: "count", input: { n } }));
      }
      for (let n = 30; n < jobs; n += 2) {
        const sequences = [n, n + 1].map((input) => ({ typeName: "count" as const, input: { n: input } }));
        started.push(...(await leasehold.startJobSequences({ sequences })));
      }
      const workers = [await start(), await start()];
      const done = await Promise.all(
        started.map((sequence) => leasehold.waitForJobSequenceCompletion(sequence)),
      );
      for (const worker of workers) await worker.stop();

      expect(done.map(({ output }) => output)).toEqual(Array.from({ length: jobs }, (_, n) => n));
      expect(await results.countDocuments({ times: 1 })).toBe(jobs);
      expect(server.faults.pending()).toBe(0);
      await leasehold.close();
      await stateAdapter.close();
    } finally {
      await client.close();
      await server.stop();
    }
  },
);
