/** What slows or stops jobs in a store: the checks of `leasehold doctor`, for programs of your own. */
export type { Finding, FindingStatus, ExaminationDepth } from "./contracts/diagnostics.ts";
export { examineStore, type ExamineStoreOptions, readStoreFacts } from "./doctor/examine-store.ts";
export type { Facts } from "./doctor/facts.ts";
export { isRecentFailure } from "./doctor/failures.ts";
export { findPauses } from "./doctor/flow.ts";
export { findStuckJobs } from "./doctor/leases.ts";
export { findLateTypes, type LateType, type QueueJudgementOptions } from "./doctor/queues.ts";
