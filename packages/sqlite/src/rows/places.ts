/** Below all priorities: of jobs in lines, in the index of pending jobs. */
export const inLine: number = -(2 ** 31);

/** Above all ranks: of jobs in an ordered line that have begun. They go first, and the others wait for them. */
export const begunRank: number = 2 ** 31;

/** Where a job is counted while it runs. */
export const slotOf = { line: 1, type: 2, queue: 4 } as const;

/** What `slots` has for each number of a line, above these. */
export const slotsPerLine = 8;

/** In SQL, the line that counts a running job; null for none. */
export const countingLine = (slots: string): string =>
  `CASE WHEN ${slots} & ${slotOf.line} THEN ${slots} / ${slotsPerLine} END`;

export interface Ranked {
  readonly group: string | null;
  readonly ordered: string | null;
  readonly priority: number;
  readonly scheduledAt: number;
  readonly leaseVersion: number;
}

/** The place in line that a pending job has from now on; null while it is not due. */
export const rankOf = (job: Ranked, now: number): number | null => {
  if (job.group !== null && job.ordered !== null && job.leaseVersion > 0) return begunRank;
  return job.scheduledAt > now ? null : job.priority;
};
