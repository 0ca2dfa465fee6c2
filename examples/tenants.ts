// Many customers, one worker: a queue for each tenant, so that a busy one does not hold up the others.
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
  "send-report": { input: { tenant: string; report: string }; output: null };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });

  // #region start
  const queueOf = (tenant: string): string => `tenant-${tenant}`;

  const sendReport = (tenant: string, report: string) =>
    leasehold.startJobSequence({
      typeName: "send-report",
      input: { tenant, report },
      queue: queueOf(tenant),
    });
  // #endregion

  for (const report of ["1", "2", "3", "4"]) await sendReport("acme", report);
  const last = await sendReport("acme", "5");
  const only = await sendReport("globex", "1");

  // #region worker
  const currentTenant = new AsyncLocalStorage<string>();
  const withTenant: Middleware = async ({ job }, next) =>
    currentTenant.run(job.queue.slice("tenant-".length), next);

  const tenants = ["acme", "globex"];
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
    .start({
      concurrency: 1,
      queues: Object.fromEntries(tenants.map((tenant) => [queueOf(tenant), 1])), // at most one each, per worker
    });
  // #endregion

  await leasehold.waitForJobSequenceCompletion(last);
  await leasehold.waitForJobSequenceCompletion(only);
  print(`All ${order.length} reports were sent.`);
  print(`Globex waited for all of Acme's: ${order.indexOf("globex 1") === order.length - 1}`);

  await worker.stop();
  await notifyAdapter.close();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
