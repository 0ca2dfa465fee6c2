export { createLeasehold, type LeaseholdOptions } from "./leasehold.ts";
export type { Leasehold, LeaseholdApi } from "./api.ts";
