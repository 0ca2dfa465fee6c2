// Looking back: what became of each attempt, what most failures have in common, and how much was done.
import { pathToFileURL } from "node:url";
import {
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  UnrecoverableJobError,
} from "leasehold";
import { checkStore } from "leasehold/doctor";

const jobTypes = defineUnionJobTypes<{
  "charge-card": { input: { order: number; cents: number }; output: string };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  // #region deployment
  const leasehold = await createLeasehold({ stateAdapter, jobTypes, deployment: "v42" });
  // #endregion
  const from = new Date(Date.now() - 60_000);

  let isDown = true;
  const worker = await leasehold
    .createWorker()
    // #region log
    .implementJobType({
      typeName: "charge-card",
      retry: { type: "fixed", delayMs: 5 },
      process: async ({ job, log }) => {
        const { order, cents } = job.input;
        log("asks the bank", { cents });
        if (cents > 5_000) throw new UnrecoverableJobError(`Order ${order} is over the limit`);
        if (isDown && job.attempt === 1) throw new Error("The bank does not answer");
        return `charge-${order}`;
      },
    })
    // #endregion
    .start({ workerId: "cashier" });

  const jobs = await leasehold.startJobSequences({
    sequences: [100, 9_900, 7_500].map((cents, order) => ({
      typeName: "charge-card" as const,
      input: { order, cents },
    })),
  });
  for (const job of jobs) await leasehold.waitForJobSequenceCompletion(job).catch(() => {});

  // #region attempts
  for (const { attempt, outcome, workerId, error, log } of await leasehold.history.listAttempts(jobs[0]!)) {
    const lines = log.map(({ text }) => text).join(", ");
    print(`Attempt ${attempt} on ${workerId}: ${outcome}; ${error?.message ?? "no error"}; log: ${lines}`);
  }
  // #endregion

  // #region causes
  const { causes } = await leasehold.history.listCauses({ typeName: "charge-card" });
  for (const { count, name, message } of causes) print(`${count} failed with ${name}: ${message}`);
  // #endregion

  isDown = false;
  // #region redrive
  const { fingerprint } = causes[0]!;
  const plan = await leasehold.jobs.redrive({ filter: { fingerprint: fingerprint! }, dryRun: true });
  print(`A redrive of this cause would revive ${plan.changed.length}`);
  // #endregion

  await worker.stop();

  // #region statistics
  const before = new Date(Date.now() + 60_000);
  for (const row of await leasehold.history.getStatistics({ from, before })) {
    const { queue, typeName, created, completed, failed, retried } = row;
    print(
      `${queue}, ${typeName}: ${created} created, ${completed} completed, ${failed} failed, ${retried} retried`,
    );
  }
  // #endregion

  // #region processes
  for (const { deployment, alive, workers } of await leasehold.history.listProcesses())
    print(`A process of ${deployment}: ${alive ? "alive" : "silent"}, ${workers.length} workers`);
  // #endregion

  // #region doctor
  const findings = await checkStore(stateAdapter, { stalledMs: 60_000 });
  for (const { check, summary, advice } of findings.filter(({ status }) => status !== "ok"))
    print(`${check}: ${summary} ${advice}`);
  // #endregion

  await leasehold.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
