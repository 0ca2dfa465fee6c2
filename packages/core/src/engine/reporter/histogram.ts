/**
 * How often something took how long, in steps of √2 from 1 ms to 12 days. The step with number n holds what took at most
 * 2^(n/2) ms and longer than the step before; the last one holds everything longer, too. Steps without a count are left out.
 */
export type Histogram = Readonly<Record<string, number>>;

/** 2^30 ms are 12.4 days. */
export const lastStep = 60;

export const stepOf = (ms: number): number => (ms > 1 ? Math.min(lastStep, Math.ceil(2 * Math.log2(ms))) : 0);

/** The longest duration of a step, in milliseconds. */
export const upperBound = (step: number): number => 2 ** (step / 2);

const lowerBound = (step: number): number => (step === 0 ? 0 : upperBound(step - 1));

export const countOf = (histogram: Histogram): number => {
  let all = 0;
  for (const step in histogram) all += histogram[step]!;
  return all;
};

/**
 * The durations below which shares of all lie, in milliseconds; the shares are given in ascending order. Estimates: within a
 * step, durations are taken to be distributed evenly. Null where nothing was counted.
 */
export const estimatePercentiles = (histogram: Histogram, shares: readonly number[]): number[] | null => {
  const all = countOf(histogram);
  const found: number[] = [];
  let below = 0;
  // Whole numbers come in ascending order, whatever the order in which they were written.
  for (const name in histogram) {
    const count = histogram[name]!;
    if (count <= 0) continue;
    const step = Number(name);
    while (found.length < shares.length && below + count >= shares[found.length]! * all) {
      const part = Math.max(0, shares[found.length]! * all - below) / count;
      found.push(lowerBound(step) + part * (upperBound(step) - lowerBound(step)));
    }
    below += count;
  }
  return found.length < shares.length ? null : found;
};
