/**
 * Workers that look for jobs of a queue at the same time find the same ones, and each takes but a few of those it named. Whoever
 * notices that looks at more jobs than it wants and takes some from the middle. A worker that is alone keeps the exact order.
 */
export interface Crowd {
  /** How many times as many jobs to look at as are wanted. */
  size(queue: string): number;
  /** How many jobs of the queue were named, and how many of them others did not take first. */
  note(queue: string, named: number, taken: number): void;
}

const largest = 16;
const calmAfterMs = 1_000;

export const createCrowd = (now: () => number = () => performance.now()): Crowd => {
  const crowds = new Map<string, { readonly size: number; readonly until: number }>();
  const size = (queue: string): number => {
    const found = crowds.get(queue);
    if (found === undefined) return 1;
    if (found.until > now()) return found.size;
    crowds.delete(queue);
    return 1;
  };
  return {
    size: (queue) => Math.round(size(queue)),
    note: (queue, named, taken) => {
      const before = size(queue);
      const after = taken < named ? Math.min(largest, before * 2) : before * 0.75;
      if (after < 1) crowds.delete(queue);
      else if (taken < named || before > 1) crowds.set(queue, { size: after, until: now() + calmAfterMs });
    },
  };
};
