/** What slows or stops jobs in a store: the checks of `leasehold doctor`, for programs of your own. */
export type { Finding, FindingStatus, ExaminationDepth } from "./store/contract/diagnostics.ts";

export { examineStore, type ExamineStoreOptions, readStoreFacts } from "./doctor/examine.ts";

export type { Facts } from "./doctor/checks.ts";

export { isRecentFailure } from "./doctor/checks.ts";

export { findPauses } from "./doctor/checks.ts";

export { findStuckJobs } from "./doctor/checks.ts";

export { findLateTypes, type LateType, type QueueJudgementOptions } from "./doctor/checks.ts";
