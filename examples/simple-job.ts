// One job type, one job, one worker: the smallest complete program.
import { pathToFileURL } from "node:url";
// #region readme
import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";

const jobTypes = defineUnionJobTypes<{
  greet: { input: { name: string }; output: { greeting: string } };
}>();
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  // #region readme
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "greet",
      process: async ({ job }) => ({ greeting: `Hello, ${job.input.name}!` }),
    })
    .start();

  const started = await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } });
  const { output } = await leasehold.waitForJobSequenceCompletion(started); // { greeting: "Hello, Ada!" }
  // #endregion

  print(output.greeting);
  const job = await leasehold.jobs.get({ id: started.id });
  print(`The job is ${job?.status} after ${job?.attempt} attempt.`);

  // #region stop
  await worker.stop();
  await stateAdapter.close();
  // #endregion
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
