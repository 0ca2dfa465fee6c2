// A worker process of the tests: runs jobs from the file until it is asked to stop, and reports to its parent what it did.
//
//   fork("work.mjs", [JSON.stringify({ file, driver, log, leaseMs, workMs })])
//
// `log` is a file to which every execution and every acknowledged completion is appended at once, so that it is known
// even if this process is killed.
import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createSqliteStateAdapter } from "@leasehold/sqlite";

const { file, driver, log, leaseMs = 30_000, workMs = 0 } = JSON.parse(process.argv[2]);
const note = (word, id) => appendFileSync(log, `${word} ${id}\n`);
const tell = (message) => process.send?.(message);
// Ends with its parent.
process.on("disconnect", () => process.exit());

const stateAdapter = await createSqliteStateAdapter({ file, driver });
const leasehold = await createLeasehold({
  stateAdapter,
  jobTypes: defineUnionJobTypes(),
  log: ({ event, data }) => {
    if (event === "stateAdapterError") tell({ error: `${data.operation}: ${String(data.error)}` });
    if (event === "workerError") tell({ error: `${data.loop}: ${String(data.error)}` });
    if (event !== "jobCompleted") return;
    note("completed", data.id);
    tell({ completed: data.id });
  },
});
const worker = await leasehold
  .createWorker()
  .implementJobType({
    typeName: "count",
    process: async ({ job }) => {
      note("executed", job.id);
      if (workMs > 0) await setTimeout(workMs);
      return job.input;
    },
  })
  .start({ concurrency: 20, pollIntervalMs: 20, leaseMs, reapIntervalMs: 100 });

const stop = async () => {
  await worker.stop();
  await leasehold.close();
  await stateAdapter.close();
  process.disconnect();
};
process.on("message", () => void stop());
tell({ ready: true });
