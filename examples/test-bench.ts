// Testing handlers in a time of their own: a day of retries takes milliseconds.
import { pathToFileURL } from "node:url";
import { defineUnionJobTypes } from "leasehold";
// #region bench
import { createTestBench } from "leasehold/testing";

const jobTypes = defineUnionJobTypes<{
  "send-invoice": { input: { invoice: string }; output: string };
}>();
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  // #region bench
  const bench = await createTestBench({ jobTypes });
  let mailServerIsUp = false;
  const worker = bench.leasehold
    .createWorker({ retry: { type: "fixed", delayMs: 3_600_000 } })
    .implementJobType({
      typeName: "send-invoice",
      process: async ({ job }) => {
        if (!mailServerIsUp) throw new Error("connection refused");
        return `sent ${job.input.invoice}`;
      },
    });

  const { id } = await bench.leasehold.startJobSequence({
    typeName: "send-invoice",
    input: { invoice: "2030-7" },
  });
  await bench.drain(worker); // runs what can run now: the first attempt fails
  const waiting = await bench.leasehold.getJob({ id }); // pending again, attempt 1

  mailServerIsUp = true;
  await bench.advance(worker, 3_600_000); // an hour later the retry succeeds
  const sent = await bench.leasehold.getJob({ id, typeName: "send-invoice" });
  // #endregion
  print(`After the first attempt: ${waiting?.status}, attempt ${waiting?.attempt}`);
  print(`An hour later: ${sent?.status}, attempt ${sent?.attempt}`);
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
