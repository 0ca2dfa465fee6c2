// Job types with schemas: values are checked where they enter, and again by the worker that reads them.
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  defineJobTypes,
  JobSequenceFailedError,
  PayloadNotStorableError,
  SchemaValidationError,
  typeOnly,
} from "leasehold";
import { z } from "zod";

// #region types
const jobTypes = defineJobTypes({
  "resize-image": {
    input: z.object({ url: z.url(), width: z.int().positive().default(800) }),
    output: z.object({ key: z.string().min(1) }),
    timeoutMs: 60_000,
    maxAttempts: 2,
  },
  "log-visit": { input: typeOnly<{ path: string }>(), queue: "low" },
});
// #endregion

/** The same types as the next release has them: narrower than what is already stored. */
const nextJobTypes = defineJobTypes({
  "resize-image": {
    input: z.object({ url: z.url(), width: z.int().max(500) }),
    output: z.object({ key: z.string() }),
  },
  "log-visit": { input: typeOnly<{ path: string }>(), queue: "low" },
});

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  // #region start
  const image = await leasehold.startJobSequence({
    typeName: "resize-image",
    input: { url: "https://example.com/cat.png" },
  });
  print(`What the schema returns is stored: width ${image.input.width}`);
  // #endregion

  // #region refused
  try {
    await leasehold.startJobSequence({ typeName: "resize-image", input: { url: "cat.png" } });
  } catch (error) {
    if (!(error instanceof SchemaValidationError)) throw error;
    print(`Refused: ${error.issues.map(({ path }) => path).join(", ")}`);
  }
  // #endregion

  // Without a schema the codec still refuses what JSON would silently change.
  try {
    await leasehold.startJobSequence({
      typeName: "log-visit",
      input: { path: "/", at: new Date(0) } as { path: string },
    });
  } catch (error) {
    if (!(error instanceof PayloadNotStorableError)) throw error;
    print(`Not storable: ${error.path}`);
  }

  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "resize-image",
      process: async ({ job }) => ({ key: `${job.input.width}.png` }),
    })
    .start();
  print(`Resized: ${(await leasehold.waitForJobSequenceCompletion(image)).output.key}`);
  await worker.stop();

  // A job that was started before the schema became stricter cannot be run by trying harder: it fails at once.
  const old = await leasehold.startJobSequence({
    typeName: "resize-image",
    input: { url: "https://example.com/dog.png" },
  });
  const next = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes: nextJobTypes });
  const nextWorker = await next
    .createWorker()
    .implementJobType({
      typeName: "resize-image",
      process: async ({ job }) => ({ key: `${job.input.width}.png` }),
    })
    .start();
  try {
    await next.waitForJobSequenceCompletion(old);
  } catch (error) {
    if (!(error instanceof JobSequenceFailedError)) throw error;
    print(`Under the stricter schema: ${error.reason}`);
  }

  await nextWorker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
