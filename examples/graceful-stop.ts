// Stopping a worker: jobs that run may finish, those that take too long are given back, and nothing is lost.
import { once } from "node:events";
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  stopOnSignals,
} from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "short-job": { input: null; output: string };
  "long-job": { input: null; output: string };
}>();

const createGate = (): { open: () => void; opened: Promise<void> } => {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
};

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  const shortBegun = createGate();
  const shortMayEnd = createGate();
  const longBegun = createGate();
  let stopping = true;

  const definition = leasehold
    .createWorker()
    .implementJobType({
      typeName: "short-job",
      process: async () => {
        shortBegun.open();
        await shortMayEnd.opened;
        return "done";
      },
    })
    // #region handler
    .implementJobType({
      typeName: "long-job",
      process: async ({ signal }) => {
        longBegun.open();
        if (stopping) {
          if (!signal.aborted) await once(signal, "abort");
          print(`The long job was told: ${signal.reason}`);
          signal.throwIfAborted();
        }
        return "done by the third worker";
      },
    });
  // #endregion

  const short = await leasehold.startJobSequence({ typeName: "short-job" });
  const firstWorker = await definition.start();
  await shortBegun.opened;
  // #region stop
  const stopped = firstWorker.stop(); // claims nothing more, and waits for what runs
  shortMayEnd.open();
  const result = await stopped;
  print(`First stop: clean=${result.clean}`);
  // #endregion
  print(`The short job is ${(await leasehold.jobs.get({ id: short.id }))?.status}.`);

  const long = await leasehold.startJobSequence({ typeName: "long-job" });
  const secondWorker = await definition.start();
  await longBegun.opened;
  // #region deadline
  const { clean, abortedJobs } = await secondWorker.stop({ deadlineMs: 0 });
  print(`Second stop: clean=${clean}, abortedJobs=${abortedJobs}`);
  // #endregion
  const givenBack = await leasehold.jobs.get({ id: long.id });
  print(`The long job is ${givenBack?.status} again, with ${givenBack?.attempt} attempts used.`);

  stopping = false;
  const thirdWorker = await definition.start();
  // #region signals
  // In a server: SIGTERM and SIGINT stop the worker, then end the process.
  const removeSignalHandlers = stopOnSignals(thirdWorker, {
    deadlineMs: 20_000,
    onStopped: () => stateAdapter.close(),
  });
  // #endregion
  const { output } = await leasehold.waitForJobSequenceCompletion(long);
  print(`The long job: ${output}`);

  removeSignalHandlers();
  await thirdWorker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
