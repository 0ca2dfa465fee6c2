import { createFifo } from "../../base/async.ts";
import type { BatchSettings, WorkerContext } from "../context.ts";
import type { HeldJob } from "../held-jobs.ts";
import { attemptLimit } from "../outcome.ts";

/** Jobs that run in one call. */
interface Batch {
  readonly jobs: HeldJob[];
  /** Of all batches of the buffer, the how manyth. */
  readonly number: number;
  /** Monotonic time at which it is run, full or not. */
  readonly readyAt: number;
}

/** The jobs of a batch type that wait here for a slot. */
export interface BatchBuffer {
  push(job: HeldJob): void;
  /** Whether there is a batch that is full, or has waited long enough. */
  isReady(): boolean;
  /** The first batch that is ready; empty when none is. */
  take(): readonly HeldJob[];
  /** All jobs, also of batches that are not ready. */
  drain(): HeldJob[];
  readonly size: number;
}

/**
 * Whether a job runs in a batch of one. The error of a job that ran in a batch may have been about another job; alone, it is
 * certainly its own. And at its last attempt, an error of another job would fail it for good.
 *
 * A retry sets `expiredLeases` to 0, so a job whose attempts all ended with their worker has as many of these as it has
 * attempts behind it.
 */
const runsAlone = (worker: WorkerContext, { job }: HeldJob): boolean =>
  job.attempt - 1 > job.expiredLeases || job.attempt >= attemptLimit(worker, job);

/** `onReady` is called when a batch that has waited long enough is to be looked for. */
export const createBatchBuffer = (
  worker: WorkerContext,
  { maxSize, maxWaitMs, sameGroup }: BatchSettings,
  onReady: () => void,
): BatchBuffer => {
  const { clock } = worker.engine.runtime;
  /** Full ones, and jobs that run alone. */
  const full = createFifo<Batch>();
  /** Batches that take more jobs, by what their jobs have in common; the one that has waited longest is first. */
  const filling = new Map<unknown, Batch>();
  let size = 0;
  let batches = 0;
  let cancelTimer: (() => void) | undefined;

  /** With different timeouts there would be no one answer to how long the call may take. */
  const sharedBy = ({ job: { timeoutMs, group } }: HeldJob): unknown =>
    sameGroup ? JSON.stringify([timeoutMs, group]) : timeoutMs;

  const begin = (job: HeldJob, waitMs: number): Batch => ({
    jobs: [job],
    number: (batches += 1),
    readyAt: clock.monotonic() + waitMs,
  });

  const wakeWhenReady = (): void => {
    if (cancelTimer) return;
    const now = clock.monotonic();
    for (const { readyAt } of filling.values()) {
      if (readyAt <= now) continue;
      cancelTimer = clock.setTimer(wake, readyAt - now);
      return;
    }
  };

  const wake = (): void => {
    cancelTimer = undefined;
    wakeWhenReady();
    onReady();
  };

  const put = (job: HeldJob): void => {
    const key = sharedBy(job);
    let batch = filling.get(key);
    if (batch) batch.jobs.push(job);
    else filling.set(key, (batch = begin(job, maxWaitMs)));
    if (batch.jobs.length < maxSize) return;
    filling.delete(key);
    full.push(batch);
  };

  /** A batch that waits for a slot continues to fill. */
  const firstWaited = (): [unknown, Batch] | undefined => {
    const [first] = filling;
    return first && first[1].readyAt <= clock.monotonic() ? first : undefined;
  };

  return {
    push: (job) => {
      size += 1;
      if (maxSize === 1 || runsAlone(worker, job)) full.push(begin(job, 0));
      else put(job);
      if (maxWaitMs > 0) wakeWhenReady();
    },
    isReady: () => full.size > 0 || firstWaited() !== undefined,
    take: () => {
      const waited = firstWaited();
      const next = full.peek();
      let batch: Batch | undefined;
      if (waited && (!next || waited[1].number < next.number)) {
        filling.delete(waited[0]);
        batch = waited[1];
      } else batch = full.shift();
      size -= batch?.jobs.length ?? 0;
      return batch?.jobs ?? [];
    },
    drain: () => {
      const all = [...full.take(full.size), ...filling.values()];
      filling.clear();
      size = 0;
      cancelTimer?.();
      cancelTimer = undefined;
      return all.sort((a, b) => a.number - b.number).flatMap(({ jobs }) => jobs);
    },
    get size() {
      return size;
    },
  };
};
