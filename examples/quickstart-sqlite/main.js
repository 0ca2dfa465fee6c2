// One process that starts a job and runs it. The job is in jobs.db before anything else happens: stop the program at any
// moment, run it again, and it goes on.
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createSqliteStateAdapter } from "@leasehold/sqlite";

const stateAdapter = await createSqliteStateAdapter({ file: "jobs.db" });
const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });

await leasehold
  .createWorker()
  .implementJobType({
    typeName: "greet",
    process: async ({ job }) => {
      if (job.attempt === 1) throw new Error("The first attempt always fails, to show a retry.");
      return `Hello, ${job.input.name}!`;
    },
  })
  .start();

const started = await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } });
console.log(`Started ${started.id}`);
const { output } = await leasehold.waitForJobSequenceCompletion(started);
console.log(output);

await leasehold.close();
await stateAdapter.close();
console.log("See for yourself: npx leasehold list");
