const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The stretch of time that processes report for. */
export const bucketMs: number = 10 * second;

/** Older stretches are not reported any more: they may have been folded. */
export const oldestReportMs: number = 90 * second;

/** From then on the rows of several processes are one. */
export const foldReportersAfterMs: number = 2 * minute;

/** The widths of stretches, and how long rows of each are kept before they are folded into the next. */
export const widths: readonly { readonly width: number; readonly keptMs: number }[] = [
  { width: bucketMs, keptMs: hour },
  { width: minute, keptMs: 2 * day },
  { width: hour, keptMs: 90 * day },
];

/** Causes that have not come up for longer are forgotten, once no failed job has them. As long as counts are kept. */
export const causeKeptMs: number = 90 * day;

/** How often a process says again that a cause comes up. */
export const causeReportMs: number = day;

/** Processes that have been silent for longer are forgotten. */
export const reporterKeptMs: number = day;
