// One worker process of the fleet: serves one job type, says when each handler begins, and what it did when asked.
import { now, openProcess } from "./open.mjs";

const options = JSON.parse(process.argv[2]);
const { leasehold, counts, close } = await openProcess(options);
const worker = await leasehold
  .createWorker()
  .implementJobType({
    typeName: options.typeName,
    process: async ({ job }) => {
      process.send({ began: { n: job.input.n, at: now() } });
      return null;
    },
  })
  .start({ concurrency: 10 });

const stop = async () => {
  await worker.stop();
  await close();
  process.disconnect();
};

process.on("message", (message) => {
  if (message === "counts") process.send({ counts });
  if (message === "stop") void stop();
});
process.send({ ready: true });
