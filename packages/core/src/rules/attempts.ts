import type { StateJob } from "../model/job.ts";
import type { MaxAttempts } from "../contracts/state-adapter.ts";

/** Whether a job whose lease has expired may be claimed again by a call with these overrides. */
export const hasAttemptsLeft = (
  { typeName, attempt, maxAttempts, maxAttemptsGiven }: StateJob,
  overrides: MaxAttempts | undefined,
): boolean => {
  const isOverridden = !maxAttemptsGiven && overrides !== undefined && Object.hasOwn(overrides, typeName);
  return attempt < (isOverridden ? overrides[typeName]! : maxAttempts);
};
