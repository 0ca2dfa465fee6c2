// A job can wait for whole sequences, and reads their outputs when it runs.
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  type DefineBlocker,
  defineUnionJobTypes,
} from "leasehold";

// #region types
const jobTypes = defineUnionJobTypes<{
  "count-words": { input: { text: string }; output: number };
  "find-author": { input: { documentId: string }; output: { name: string } };
  "write-summary": {
    input: { documentId: string };
    output: string;
    blockers: [DefineBlocker<"count-words">, DefineBlocker<"find-author">];
  };
}>();
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  // #region start
  const summary = await leasehold.startJobSequence({
    typeName: "write-summary",
    input: { documentId: "doc-7" },
    // Runs in the transaction that creates the job: the job and what it waits for appear together or not at all.
    startBlockers: async ({ job }) => [
      await leasehold.startJobSequence({ typeName: "count-words", input: { text: "durable typed jobs" } }),
      await leasehold.startJobSequence({
        typeName: "find-author",
        input: { documentId: job.input.documentId },
      }),
    ],
  });
  // #endregion
  print(`Without a worker the summary is ${summary.status}.`);

  const explanation = await leasehold.jobs.explain({ id: summary.id });
  if (explanation.state === "blocked") {
    print(`It waits for: ${explanation.by.map(({ typeName }) => typeName).join(", ")}`);
  }

  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "count-words",
      process: async ({ job }) => job.input.text.split(" ").length,
    })
    .implementJobType({ typeName: "find-author", process: async () => ({ name: "Grace" }) })
    // #region handler
    .implementJobType({
      typeName: "write-summary",
      process: async ({ job }) => {
        const [words, author] = job.blockers;
        return `${job.input.documentId}: ${words.output} words by ${author.output.name}`;
      },
    })
    // #endregion
    .start();

  const { output } = await leasehold.waitForJobSequenceCompletion(summary);
  print(output);

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
