// Limits over all workers, fair turns between customers, and a group whose jobs run one at a time, in order.
import { pathToFileURL } from "node:url";
import { createInProcessStateAdapter, createLeasehold, defineJobTypes, typeOnly } from "leasehold";

// #region types
const jobTypes = defineJobTypes({
  "call-api": {
    input: typeOnly<{ customer: string; page: number }>(),
    group: ({ customer }) => customer, // or `group: "acme"` at the start
  },
  "sync-account": {
    input: typeOnly<{ account: string; change: number }>(),
    group: ({ account }) => account,
    ordered: true, // one at a time for each account, in the order of the starts
  },
});
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  // #region limits
  // Stored, and for every worker on this store at once. Nothing is deployed, nothing that runs is interrupted.
  await leasehold.limits.set({
    typeName: "call-api",
    concurrency: 4, // at most four at once
    rate: { limit: 1_000, perMs: 1_000 }, // at most 1,000 started in any second
    perGroup: { concurrency: 2 }, // and two at once for each customer
    weights: { acme: 3 }, // acme pays for three turns where others have one
  });
  // #endregion

  const customers = ["acme", "acme", "acme", "acme", "acme", "acme", "globex", "initech"];
  const calls = await leasehold.startJobSequences({
    sequences: customers.map((customer, page) => ({
      typeName: "call-api" as const,
      input: { customer, page },
    })),
  });
  const changes = await leasehold.startJobSequences({
    sequences: [1, 2, 3].map((change) => ({
      typeName: "sync-account" as const,
      input: { account: "ada", change },
    })),
  });

  let running = 0;
  let most = 0;
  const applied: number[] = [];
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "call-api",
      process: async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((done) => setTimeout(done, 5));
        running -= 1;
        return null;
      },
    })
    .implementJobType({
      typeName: "sync-account",
      process: async ({ job }) => {
        applied.push(job.input.change);
        return null;
      },
    })
    .start({ concurrency: 20 });

  for (const call of calls) await leasehold.waitForJobSequenceCompletion(call);
  for (const change of changes) await leasehold.waitForJobSequenceCompletion(change);
  print(`Calls at once: ${most}`);
  print(`Changes in order: ${applied.join(", ")}`);

  // #region pause
  await leasehold.limits.pause({ typeName: "call-api" });
  const held = await leasehold.startJobSequence({
    typeName: "call-api",
    input: { customer: "acme", page: 9 },
  });
  const { state, summary } = await leasehold.jobs.explain(held);
  print(`${state}: ${summary}`);
  await leasehold.limits.resume({ typeName: "call-api" });
  // #endregion
  await leasehold.waitForJobSequenceCompletion(held);
  print("It has run.");

  await worker.stop();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
