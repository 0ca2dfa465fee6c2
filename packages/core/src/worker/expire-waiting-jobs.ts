import { createAfterCommit } from "../engine/after-commit.ts";
import { announceCascade, announceFailure } from "../engine/announce-outcome.ts";
import { expiredError } from "../model/expiry.ts";
import { toStoredErrorText } from "../model/stored-error.ts";
import type { WorkerContext } from "./worker-context.ts";

/** Fails jobs that have waited too long where no worker claims them. Returns whether there may be more. */
export const expireWaitingJobs = async ({ engine }: WorkerContext, limit: number): Promise<boolean> => {
  const { flow } = engine.store;
  if (flow === undefined) return false;
  const error = toStoredErrorText(expiredError());
  const expired = await flow.expireWaitingJobs({ limit, error });
  const afterCommit = createAfterCommit(engine);
  for (const { job, cascaded } of expired) {
    announceFailure(afterCommit, job, "expired", job.lastError);
    announceCascade(afterCommit, job, cascaded);
  }
  afterCommit.publish();
  return expired.length === limit;
};
