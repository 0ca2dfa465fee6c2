// Fan-out and fan-in: one job for each part, and one that runs when all parts are done.
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  defineJobTypes,
  typeOnly,
} from "leasehold";

// #region types
const jobTypes = defineJobTypes({
  "resize-photo": { input: typeOnly<{ photo: string }>(), output: typeOnly<{ bytes: number }>() },
  "publish-album": {
    input: typeOnly<{ album: string }>(),
    output: typeOnly<string>(),
    blockers: { anyNumberOf: ["resize-photo"] },
  },
});
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  // #region fan-out
  const photos = ["beach", "harbour", "sunset"];
  const album = await leasehold.startJobSequence({
    typeName: "publish-album",
    input: { album: "summer" },
    startBlockers: () =>
      leasehold.startJobSequences({
        sequences: photos.map((photo) => ({ typeName: "resize-photo", input: { photo } })),
      }),
  });
  // #endregion

  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "resize-photo",
      process: async ({ job }) => ({ bytes: job.input.photo.length * 1_000 }),
    })
    // #region fan-in
    .implementJobType({
      typeName: "publish-album",
      process: async ({ job }) => {
        const bytes = job.blockers.reduce((sum, { output }) => sum + output.bytes, 0);
        return `${job.input.album}: ${job.blockers.length} photos, ${bytes} bytes`;
      },
    })
    // #endregion
    .start();

  const { output } = await leasehold.waitForJobSequenceCompletion(album);
  print(output);

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
