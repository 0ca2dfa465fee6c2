// Jobs for later: after some time, at a moment, or whenever the handler asks to be called again.
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  rescheduleJob,
} from "leasehold";

const jobTypes = defineUnionJobTypes<{
  remind: { input: { text: string }; output: null };
  "await-export": { input: { exportId: string }; output: { looks: number } };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  let looks = 0;
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "remind",
      process: async ({ job }) => {
        print(`Reminder: ${job.input.text}`);
      },
    })
    // #region reschedule
    .implementJobType({
      typeName: "await-export",
      process: async () => {
        looks += 1;
        // Not ready is not a failure: come back later, without using up an attempt.
        if (looks < 3) rescheduleJob({ afterMs: 5 });
        return { looks };
      },
    })
    // #endregion
    .start();

  // #region schedule
  const soon = await leasehold.startJobSequence({
    typeName: "remind",
    input: { text: "water the plants" },
    schedule: { afterMs: 20 },
  });
  const farAway = await leasehold.startJobSequence({
    typeName: "remind",
    input: { text: "renew the passport" },
    schedule: { at: new Date("2099-01-01T00:00:00Z") },
  });
  // #endregion

  await leasehold.waitForJobSequenceCompletion(soon);
  const ran = await leasehold.jobs.get({ id: soon.id });
  print(`Not before its time: ${ran!.lastAttemptAt!.getTime() >= ran!.createdAt.getTime() + 20}`);

  const explanation = await leasehold.jobs.explain({ id: farAway.id });
  print(explanation.summary);
  await leasehold.jobs.cancel({ ids: [farAway.id], reason: "The passport was renewed early." });

  const exported = await leasehold.startJobSequence({ typeName: "await-export", input: { exportId: "e-1" } });
  const { output } = await leasehold.waitForJobSequenceCompletion(exported);
  const job = await leasehold.jobs.get({ id: exported.id });
  print(`The export was ready at look ${output.looks}; attempts used: ${job?.attempt}.`);

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
