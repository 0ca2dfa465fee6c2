// Testing handlers with a manual clock: a day of retries takes milliseconds.
import { pathToFileURL } from "node:url";
import { defineUnionJobTypes } from "leasehold";
// #region kit
import { createTestKit } from "leasehold/testing";

const jobTypes = defineUnionJobTypes<{
  "send-invoice": { input: { invoice: string }; output: string };
}>();
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  // #region kit
  const kit = await createTestKit({ jobTypes });
  let mailServerIsUp = false;
  const worker = kit.leasehold
    .createWorker({ retry: { type: "fixed", delayMs: 3_600_000 } })
    .implementJobType({
      typeName: "send-invoice",
      process: async ({ job }) => {
        if (!mailServerIsUp) throw new Error("connection refused");
        return `sent ${job.input.invoice}`;
      },
    });

  const { id } = await kit.leasehold.startJobSequence({
    typeName: "send-invoice",
    input: { invoice: "2030-7" },
  });
  await kit.drain(worker); // runs what can run now: the first attempt fails
  const waiting = await kit.leasehold.jobs.get({ id }); // pending again, attempt 1

  mailServerIsUp = true;
  await kit.advance(worker, 3_600_000); // an hour later the retry succeeds
  const sent = await kit.leasehold.jobs.get({ id, typeName: "send-invoice" });
  // #endregion
  print(`After the first attempt: ${waiting?.status}, attempt ${waiting?.attempt}`);
  print(`An hour later: ${sent?.status}, attempt ${sent?.attempt}`);
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
