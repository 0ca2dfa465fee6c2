// Medians over the repetitions of a run.

/** @param {readonly number[]} values */
export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/**
 * @param {readonly object[]} records
 * @returns {(system: string, phase: string, field?: string) => number | undefined}
 */
export const createMedians =
  (records) =>
  (system, phase, field = "rate") => {
    const values = records
      .filter((record) => record.system === system && record.phase === phase)
      .map((record) => record[field])
      .filter((value) => value !== undefined);
    return values.length > 0 ? median(values) : undefined;
  };
