// Many customers, one queue: each tenant is a group, so that a busy one does not hold up the others.
import { AsyncLocalStorage } from "node:async_hooks";
import { pathToFileURL } from "node:url";
import {
  createInProcessStateAdapter,
  createLeasehold,
  defineJobTypes,
  type Middleware,
  typeOnly,
} from "leasehold";

// #region start
const jobTypes = defineJobTypes({
  "send-report": {
    input: typeOnly<{ tenant: string; report: string }>(),
    group: ({ tenant }) => tenant,
  },
});
// #endregion

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  const sendReport = (tenant: string, report: string) =>
    leasehold.startJobSequence({ typeName: "send-report", input: { tenant, report } });

  for (const report of ["1", "2", "3", "4"]) await sendReport("acme", report);
  const last = await sendReport("acme", "5");
  const only = await sendReport("globex", "1");

  // #region worker
  await leasehold.limits.set({ typeName: "send-report", perGroup: { concurrency: 1 } }); // one at once for each tenant

  const currentTenant = new AsyncLocalStorage<string | null>();
  const withTenant: Middleware = async ({ job }, next) => currentTenant.run(job.group, next);

  const order: string[] = [];
  const worker = await leasehold
    .createWorker()
    .use(withTenant)
    .implementJobType({
      typeName: "send-report",
      process: async ({ job }) => {
        order.push(`${currentTenant.getStore()} ${job.input.report}`);
        return null;
      },
    })
    .start({ concurrency: 1 });
  // #endregion

  await leasehold.waitForJobSequenceCompletion(last);
  await leasehold.waitForJobSequenceCompletion(only);
  print(`All ${order.length} reports were sent.`);
  print(`Globex waited for all of Acme's: ${order.indexOf("globex 1") === order.length - 1}`);

  await worker.stop();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
