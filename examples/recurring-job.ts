// A job for every full hour: each run starts the next one, under a key that can exist only once.
import { pathToFileURL } from "node:url";
import { defineUnionJobTypes } from "leasehold";
import { createTestKit } from "leasehold/testing";

const jobTypes = defineUnionJobTypes<{
  "hourly-report": { input: { tick: string }; output: null };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const kit = await createTestKit({ jobTypes });
  const { leasehold } = kit;
  const now = (): number => kit.clock.now(); // in production: Date.now

  // #region tick
  const hour = 3_600_000;
  const tickAfter = (ms: number): number => (Math.floor(ms / hour) + 1) * hour;

  const startTick = (tick: number) =>
    leasehold.startJobSequence({
      typeName: "hourly-report",
      input: { tick: new Date(tick).toISOString() },
      schedule: { at: new Date(tick) },
      // Whoever asks first starts the tick. Everybody else finds it, even when it has already run.
      deduplication: { key: new Date(tick).toISOString(), scope: "all" },
      // Each tick is a tree of its own, so that retention can remove it.
      detached: true,
    });
  // #endregion

  let reportServerIsUp = false;
  // #region handler
  const worker = leasehold.createWorker({ retry: { type: "fixed", delayMs: 1_000 } }).implementJobType({
    typeName: "hourly-report",
    process: async ({ job }) => {
      // First the next tick, so that a failure of this one does not end the series. Hours that were missed are left out.
      await startTick(tickAfter(Math.max(Date.parse(job.input.tick), now())));
      if (!reportServerIsUp) throw new Error("The report server is down.");
      print(`Report of ${job.input.tick}`);
      return null;
    },
  });
  // #endregion

  // #region boot
  // When the application starts, in every process:
  await startTick(tickAfter(now()));
  // #endregion
  await startTick(tickAfter(now()));

  await kit.advance(worker, hour + 10_000); // the first tick fails four times
  reportServerIsUp = true;
  await kit.advance(worker, 2 * hour);
  const failed = await leasehold.listJobs({ status: "failed" });
  print(`Failed: ${failed.jobs.length}`);
  const next = await leasehold.listJobs({ status: "pending" });
  print(`Waiting: ${next.jobs.map(({ input }) => input.tick).join(", ")}`);
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
