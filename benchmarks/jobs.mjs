// The jobs that every system gets: the same names, the same payloads.

/** @typedef {{ type: string, input: { n: number, email: string, at?: number } }} Job */

/** @param {number} count */
export const typeNames = (count) =>
  count === 1 ? ["no-op"] : Array.from({ length: count }, (_, i) => `no-op-${i}`);

/**
 * @param {number} n
 * @param {readonly string[]} types
 * @returns {Job}
 */
export const createJob = (n, types) => ({
  type: types[n % types.length],
  input: { n, email: `user-${n}@example.com` },
});

/**
 * @param {number} from
 * @param {number} count
 * @param {readonly string[]} types
 */
export const createJobs = (from, count, types) =>
  Array.from({ length: count }, (_, i) => createJob(from + i, types));
