// One Leasehold in a process: Next.js loads modules again after a change, and once for each bundle.
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createLeasehold, defineUnionJobTypes } from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "send-receipt": { input: { orderId: string }; output: string };
}>();

const open = async () => {
  const stateAdapter = await createSqliteStateAdapter({ file: process.env.JOBS_FILE ?? "jobs.sqlite" });
  return createLeasehold({ stateAdapter, jobTypes });
};

type AppLeasehold = Awaited<ReturnType<typeof open>>;

// #region singleton
const shared = globalThis as { leasehold?: Promise<AppLeasehold>; stopWorker?: () => Promise<unknown> };

export const getLeasehold = (): Promise<AppLeasehold> => (shared.leasehold ??= open());

export const defineWorker = (leasehold: AppLeasehold) =>
  leasehold.createWorker().implementJobType({
    typeName: "send-receipt",
    process: async ({ job }) => `receipt for ${job.input.orderId}`,
  });

/** Stops the worker of the code before the change, and starts one with the new handlers. */
export const startWorker = async (): Promise<void> => {
  await shared.stopWorker?.();
  const worker = await defineWorker(await getLeasehold()).start();
  shared.stopWorker = () => worker.stop();
};
// #endregion
