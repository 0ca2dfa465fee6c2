import type { AfterCommit } from "../after-commit.ts";

/**
 * Workers hear of a change in the same way as of new jobs, under a name that stands for no job type. So no transport has to know
 * of it, and workers of a version without recurring jobs do not listen to it.
 */
export const recurringJobsChanged = "leasehold:recurring-jobs";

// A name is heard by as many workers as it is sent for. One would do, but might be about to stop.
const listeners = 5;

/** Lets workers look at once instead of within a minute. */
export const wakeTickers = (afterCommit: AfterCommit): void => {
  for (let count = 0; count < listeners; count += 1) afterCommit.notify("jobScheduled", recurringJobsChanged);
};
