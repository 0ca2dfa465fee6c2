// Waiting for somebody else's work: look, come back later, and give up in the end.
import { pathToFileURL } from "node:url";
import { defineUnionJobTypes, rescheduleJob, UnrecoverableJobError } from "leasehold";
import { createTestKit } from "leasehold/testing";

const jobTypes = defineUnionJobTypes<{
  "fetch-export": { input: { exportId: string }; output: { url: string } };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const kit = await createTestKit({ jobTypes });
  const { leasehold } = kit;
  const minute = 60_000;

  // Stands for the API: one export is ready after five minutes, the other never.
  const startedAt = kit.clock.now();
  const askForExport = async (exportId: string): Promise<{ url: string } | undefined> =>
    exportId === "e-1" && kit.clock.now() >= startedAt + 5 * minute
      ? { url: "https://example.com/e-1.csv" }
      : undefined;
  const now = (): number => kit.clock.now(); // in production: Date.now

  // #region handler
  const worker = leasehold.createWorker().implementJobType({
    typeName: "fetch-export",
    process: async ({ job }) => {
      const found = await askForExport(job.input.exportId);
      if (found !== undefined) return found;
      // "Not ready" is no failure: coming back later costs no attempt. So the limit has to be our own.
      if (now() > job.createdAt.getTime() + 60 * minute) {
        throw new UnrecoverableJobError("The export was not ready after an hour.");
      }
      return rescheduleJob({ afterMs: 2 * minute });
    },
  });
  // #endregion

  const good = await leasehold.startJobSequence({ typeName: "fetch-export", input: { exportId: "e-1" } });
  const bad = await leasehold.startJobSequence({ typeName: "fetch-export", input: { exportId: "e-2" } });
  await kit.advance(worker, 90 * minute);
  const ready = await leasehold.jobs.get({ id: good.id });
  print(`e-1: ${ready?.status}, attempts used: ${ready?.attempt}`);
  const late = await leasehold.jobs.get({ id: bad.id });
  print(`e-2: ${late?.status === "failed" ? late.failure.reason : late?.status}`);
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
