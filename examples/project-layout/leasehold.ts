import {
  createInProcessStateAdapter,
  createLeasehold,
  type InProcessStateAdapter,
  type Leasehold,
} from "leasehold";
import { jobTypes, type AppJobTypes } from "./job-types.ts";

// #region leasehold
export type AppLeasehold = Leasehold<AppJobTypes, InProcessStateAdapter>;

export const openLeasehold = (): Promise<AppLeasehold> =>
  createLeasehold({
    stateAdapter: createInProcessStateAdapter(),
    jobTypes,
  });
// #endregion
