import type { WorkerStartOptions } from "../worker/api.ts";
import type { JobAbortReason, TypedAbortSignal } from "../job-types/entities.ts";

/** For stories in which a worker has to notice, without any hint, that a job is no longer its own. */
export const heartbeatSoon: WorkerStartOptions = { leaseMs: 1_500 };

/** The reason, as soon as the signal aborts. */
export const aborted = (signal: TypedAbortSignal<JobAbortReason>): Promise<JobAbortReason | undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
