import { createAfterCommit } from "../engine/after-commit.ts";
import { jobEventData } from "../engine/observe.ts";
import { announceCascade, announceFailure } from "../engine/announce-outcome.ts";
import { kindOfError } from "../model/fingerprint.ts";
import type { StoredError } from "../model/stored-error.ts";
import { expireWaitingJobs } from "./expire-waiting-jobs.ts";
import { type Loop, startLoop } from "./loop.ts";
import type { WorkerContext } from "./worker-context.ts";

const batchSize = 100;

// Without a stack: it would say where this worker was started, and nothing about the job.
const leaseExpired: StoredError = {
  name: "LeaseExpiredError",
  message: "The lease ran out before the worker reported an outcome.",
};
const error = JSON.stringify(leaseExpired);
const kind = kindOfError(leaseExpired);
const { fingerprint } = kind;

/**
 * Takes back jobs whose worker has vanished, so that they are seen even where nobody claims their type. Ends jobs that have
 * waited too long, for the same reason.
 */
export const startReaper = (worker: WorkerContext): Loop => {
  const { engine, settings, maxAttempts } = worker;
  const { store, runtime } = engine;

  const reapBatch = async (): Promise<number> => {
    const reaped = await store.reapExpiredLeases({ limit: batchSize, error, fingerprint, maxAttempts });
    if (reaped.length > 0) engine.reporter.addCause(kind);
    const afterCommit = createAfterCommit(engine);
    for (const { job, previouslyLeasedBy, cascaded } of reaped) {
      afterCommit.count(job, "reaped");
      afterCommit.observe("jobReaped", () => ({
        previousWorkerId: previouslyLeasedBy,
        ...jobEventData(job),
      }));
      afterCommit.notify("ownershipLost", job.id);
      if (job.status === "pending") afterCommit.notify("jobScheduled", job.typeName);
      if (job.status === "failed") announceFailure(afterCommit, job, job.failureReason!, job.lastError);
      announceCascade(afterCommit, job, cascaded);
    }
    afterCommit.publish();
    return reaped.length;
  };

  return startLoop(worker, "reaper", async () => {
    const reaped = await reapBatch();
    const mayBeMore = await expireWaitingJobs(worker, batchSize);
    // Jitter keeps the workers of a fleet from reaping in step.
    return reaped === batchSize || mayBeMore ? 0 : settings.reapIntervalMs * (0.75 + runtime.random() / 2);
  });
};
