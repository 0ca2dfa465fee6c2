import type { StateJob } from "./job.ts";

/** What is stored as the error of a job that has waited too long. */
export const expiredError = (): Error =>
  Object.assign(new Error("The job waited longer than `expireAfterMs` for its first attempt."), {
    name: "JobExpiredError",
  });

/** Whether a job that was just claimed for its first attempt had waited too long by then, by the store's clock. */
export const hadExpired = ({
  expireAfterMs,
  attempt,
  scheduledAt,
  lastAttemptAt,
}: Pick<StateJob, "expireAfterMs" | "attempt" | "scheduledAt" | "lastAttemptAt">): boolean =>
  expireAfterMs !== null && attempt === 1 && (lastAttemptAt ?? 0) >= scheduledAt + expireAfterMs;
