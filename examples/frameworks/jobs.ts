// What the recipes share: job types, a Leasehold and a worker. An application has its own store instead of this one.
import {
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  type InProcessStateAdapter,
  type Leasehold,
} from "leasehold";

export interface AppJobTypes {
  "send-receipt": { input: { orderId: string }; output: string };
}

export type AppLeasehold = Leasehold<AppJobTypes, InProcessStateAdapter>;

export const openLeasehold = (): Promise<AppLeasehold> =>
  createLeasehold({
    stateAdapter: createInProcessStateAdapter(),
    jobTypes: defineUnionJobTypes<AppJobTypes>(),
  });

export const defineWorker = (leasehold: AppLeasehold): ReturnType<AppLeasehold["createWorker"]> =>
  leasehold.createWorker().implementJobType({
    typeName: "send-receipt",
    process: async ({ job }) => `receipt for ${job.input.orderId}`,
  });
