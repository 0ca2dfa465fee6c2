/** What slows or stops jobs in a store: the checks of `leasehold doctor`, for programs of your own. */
export type { CheckResult, CheckStatus, CheckDepth } from "./store/contract/diagnostics.ts";

export { checkStore, type ExamineStoreOptions, readStoreFacts } from "./doctor/examine.ts";

export type { StoreFacts } from "./doctor/checks.ts";

export { isRecentFailure } from "./doctor/checks.ts";

export { findPauses } from "./doctor/checks.ts";

export { findStuckJobs } from "./doctor/checks.ts";

export {
  countPending,
  findRunnableTypes,
  type QueueCheckOptions,
  type RunnableType,
} from "./doctor/checks.ts";
