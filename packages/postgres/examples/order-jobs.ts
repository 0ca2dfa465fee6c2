// What the examples have in common: a shop whose orders are shipped by jobs.
import { defineUnionJobTypes, type JobTypes, type LeaseholdApi } from "leasehold";

export type OrderJobs = {
  "ship-order": { input: { orderId: string }; output: { address: string } };
};

export const orderJobs: JobTypes<OrderJobs> = defineUnionJobTypes<OrderJobs>();

/** Leasehold with these jobs, in whose transactions the context is `TContext`. */
export type OrderLeasehold<TContext> = LeaseholdApi<OrderJobs, TContext, string>;
