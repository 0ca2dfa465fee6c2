// Two ways an attempt ends early: somebody cancels the sequence, or the attempt takes longer than its timeout.
import { once } from "node:events";
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  JobSequenceFailedError,
} from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "render-video": { input: { video: string }; output: null };
  "publish-course": { input: { videos: string[] }; output: null };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });

  const worker = await leasehold
    .createWorker()
    // #region handler
    .implementJobType({
      typeName: "render-video",
      process: async ({ job, signal, reportProgress }) => {
        await reportProgress({ percent: 40 });
        begin();
        if (!signal.aborted) await once(signal, "abort"); // usually you pass it on: fetch(url, { signal })
        print(`${job.input.video} was told: ${signal.reason}`);
        signal.throwIfAborted();
      },
    })
    // #endregion
    .implementJobType({
      typeName: "publish-course",
      process: async ({ job }) => {
        const sequences = job.input.videos.map(
          (video) =>
            ({ typeName: "render-video", input: { video }, schedule: { afterMs: 3_600_000 } }) as const,
        );
        await leasehold.startJobSequences({ sequences });
        return null;
      },
    })
    .start();

  const wanted = await leasehold.startJobSequence({ typeName: "render-video", input: { video: "first" } });
  await begun;
  print(`Progress: ${JSON.stringify((await leasehold.jobs.get({ id: wanted.id }))?.progress)}`);
  // #region cancel
  const { changed, skipped } = await leasehold.jobs.cancel({
    ids: [wanted.id],
    reason: "The user closed the page.",
  });
  print(`Cancelled: ${changed.length}, skipped: ${skipped.length}`);
  // #endregion
  try {
    await leasehold.waitForJobSequenceCompletion(wanted);
  } catch (error) {
    if (!(error instanceof JobSequenceFailedError)) throw error;
    print(`Failed (${error.reason}): ${(error.cause as Error).message}`);
  }

  // #region timeout
  const slow = await leasehold.startJobSequence({
    typeName: "render-video",
    input: { video: "second" },
    timeoutMs: 100,
    maxAttempts: 1,
  });
  // #endregion
  try {
    await leasehold.waitForJobSequenceCompletion(slow);
  } catch (error) {
    if (!(error instanceof JobSequenceFailedError)) throw error;
    print(`Failed (${error.reason}): ${(error.cause as Error).name}`);
  }

  const course = await leasehold.startJobSequence({
    typeName: "publish-course",
    input: { videos: ["third", "fourth"] },
  });
  await leasehold.waitForJobSequenceCompletion(course);
  // #region children
  const tree = await leasehold.jobs.cancel({ ids: [course.id], withChildren: true });
  print(`Cancelled with the course: ${tree.changed.length} videos`);
  // #endregion

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
