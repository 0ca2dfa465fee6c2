// Middleware wraps every handler of a worker: timing, tracing, context for logs, checks before the work.
import { AsyncLocalStorage } from "node:async_hooks";
import { pathToFileURL } from "node:url";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  type Middleware,
} from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "send-mail": { input: { to: string }; output: { sent: boolean } };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  // #region middleware
  const logFields = new AsyncLocalStorage<{ job: string }>();

  const withLogFields: Middleware = async ({ job }, next) =>
    logFields.run({ job: `${job.typeName}, attempt ${job.attempt}` }, next);

  const withReport: Middleware = async ({ job }, next) => {
    print(`before ${job.typeName}`);
    try {
      return await next();
    } finally {
      print(`after ${job.typeName}`);
    }
  };

  const worker = await leasehold
    .createWorker()
    .use(withLogFields)
    .use(withReport)
    .implementJobType({
      typeName: "send-mail",
      retry: { type: "fixed", delayMs: 5 },
      process: async ({ job }) => {
        print(`[${logFields.getStore()?.job}] mail to ${job.input.to}`);
        if (job.attempt === 1) throw new Error("The mail server is busy.");
        return { sent: true };
      },
    })
    .start();
  // #endregion

  const mail = await leasehold.startJobSequence({ typeName: "send-mail", input: { to: "ada@example.com" } });
  const { output } = await leasehold.waitForJobSequenceCompletion(mail);
  print(`sent: ${output.sent}`);

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
