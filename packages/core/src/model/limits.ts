/** Every store keeps counts and priorities in 32 bits. */
export const largestInt32: number = 2 ** 31 - 1;

/** A timeout, a lease or an interval beyond a year is a mistake in units, not a wish. */
export const longestDurationMs: number = 366 * 24 * 3_600_000;
