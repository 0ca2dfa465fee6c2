/** The value below which this share of the sorted values lies, by nearest rank; undefined where there are none. */
export const percentile = (sorted: readonly number[], share: number): number | undefined =>
  sorted.length === 0 ? undefined : sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
