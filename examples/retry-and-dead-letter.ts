// What becomes of a job that throws: it is tried again, ends in `failed`, and can be brought back from there.
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  type DefineBlocker,
  defineUnionJobTypes,
  JobSequenceFailedError,
  UnrecoverableJobError,
} from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "fetch-rates": { input: { currency: string }; output: { rate: number } };
  "price-order": { input: { cents: number }; output: number; blockers: [DefineBlocker<"fetch-rates">] };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  let outage = false;

  const worker = await leasehold
    .createWorker()
    // #region handler
    .implementJobType({
      typeName: "fetch-rates",
      maxAttempts: 3,
      retry: { type: "fixed", delayMs: 5 },
      process: async ({ job }) => {
        if (job.input.currency === "XXX") throw new UnrecoverableJobError("There is no such currency.");
        if (outage || job.attempt < 3)
          throw new Error(`The rate server did not answer attempt ${job.attempt}.`);
        return { rate: 2 };
      },
    })
    // #endregion
    .implementJobType({
      typeName: "price-order",
      process: async ({ job }) => job.input.cents * job.blockers[0].output.rate,
    })
    .start();

  const flaky = await leasehold.startJobSequence({ typeName: "fetch-rates", input: { currency: "EUR" } });
  await leasehold.waitForJobSequenceCompletion(flaky);
  const flakyJob = await leasehold.jobs.get({ id: flaky.id });
  print(`Completed at attempt ${flakyJob?.attempt}; before that: ${flakyJob?.lastError?.message}`);

  // #region unrecoverable
  const hopeless = await leasehold.startJobSequence({ typeName: "fetch-rates", input: { currency: "XXX" } });
  try {
    await leasehold.waitForJobSequenceCompletion(hopeless);
  } catch (error) {
    if (!(error instanceof JobSequenceFailedError)) throw error;
    print(`Failed at once (${error.reason}): ${(error.cause as Error).message}`);
  }
  // #endregion

  outage = true;
  const order = await leasehold.startJobSequence({
    typeName: "price-order",
    input: { cents: 500 },
    startBlockers: async () => [
      await leasehold.startJobSequence({ typeName: "fetch-rates", input: { currency: "USD" } }),
    ],
  });
  await leasehold.waitForJobSequenceCompletion(order).catch((error: unknown) => {
    if (!(error instanceof JobSequenceFailedError)) throw error;
    print(`The order fails with its blocker (${error.reason}).`);
  });

  // #region dead-letters
  const deadLetters = await leasehold.jobs.list({ status: "failed", order: "oldest" });
  for (const { typeName, failure } of deadLetters.jobs) print(`In failed: ${typeName} (${failure.reason})`);
  // #endregion

  outage = false;
  // #region redrive
  const filter = { typeName: "fetch-rates", failureReason: "attempts_exhausted" } as const;
  const plan = await leasehold.jobs.redrive({ filter, dryRun: true });
  print(
    `A dry run would revive ${plan.changed.length} job and ${plan.changed[0]?.revivedIds.length} dependant.`,
  );
  await leasehold.jobs.redrive({ filter });
  // #endregion
  const priced = await leasehold.waitForJobSequenceCompletion(order);
  print(`After the redrive the order costs ${priced.output}.`);

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
