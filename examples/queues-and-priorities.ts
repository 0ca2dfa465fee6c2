// Queues divide a worker's slots; within a queue, priority comes before age.
import { pathToFileURL } from "node:url";
import { createInProcessStateAdapter, createLeasehold, defineJobTypes, typeOnly } from "leasehold";

// #region types
const jobTypes = defineJobTypes({
  "send-alert": { input: typeOnly<{ text: string }>(), queue: "urgent" },
  "build-report": { input: typeOnly<{ name: string }>(), queue: "reports" },
});
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  // #region bulk
  const reports = await leasehold.startJobSequences({
    sequences: [
      { typeName: "build-report", input: { name: "weekly" } },
      { typeName: "build-report", input: { name: "monthly" } },
      { typeName: "build-report", input: { name: "for the board meeting" }, priority: 10 },
      { typeName: "send-alert", input: { text: "disk almost full" } },
    ],
  });
  // #endregion

  const order: string[] = [];
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "send-alert",
      process: async ({ job }) => {
        print(`Alert: ${job.input.text}`);
      },
    })
    .implementJobType({
      typeName: "build-report",
      process: async ({ job }) => {
        order.push(job.input.name);
      },
    })
    // #region start
    .start({
      concurrency: 10, // in all
      queues: { urgent: 10, reports: 1 }, // per worker: this one builds one report at a time
    });
  // #endregion

  for (const report of reports) await leasehold.waitForJobSequenceCompletion(report);
  print(`Reports in order: ${order.join(", ")}`);

  await worker.stop();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
