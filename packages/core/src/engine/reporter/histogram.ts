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

export const countOf = (histogram: Histogram): number =>
  Object.values(histogram).reduce((sum, count) => sum + count, 0);

/**
 * The duration below which a share of all lies, in milliseconds. An estimate: within a step, durations are taken to be
 * distributed evenly. Null where nothing was counted.
 */
export const estimatePercentile = (histogram: Histogram, share: number): number | null => {
  const steps = Object.entries(histogram)
    .map(([step, count]) => [Number(step), count] as const)
    .sort(([a], [b]) => a - b);
  const wanted = share * countOf(histogram);
  let below = 0;
  for (const [step, count] of steps) {
    if (count > 0 && below + count >= wanted) {
      const part = Math.max(0, wanted - below) / count;
      return lowerBound(step) + part * (upperBound(step) - lowerBound(step));
    }
    below += count;
  }
  return null;
};
